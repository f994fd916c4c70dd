/** Modules that come back together, in a process of their own: those of `reveille simulate`, in another hurry. */
import { SystemClock } from '../../src/lib/system-clock.ts';
import { openEndpoints } from '../../src/tools/simulator/device-connections.ts';
import { DeviceFleet } from '../../src/tools/simulator/device-fleet.ts';
import { FleetTroubles } from '../../src/tools/simulator/fleet-troubles.ts';
import { moduleAlone, type DeviceLife } from '../../src/tools/simulator/simulated-device.ts';
import { answerQuestions } from './ipc.ts';
import { deviceIdentity } from './population.ts';
import { moduleRetry, stormService, type StormFleet, type StormProtocol } from './storm-protocol.ts';
import { untilNone, watchReturn, type Crowd } from './storm-watch.ts';

const heartbeatSeconds = 50;
/** Without bound: what holds them back is the server, and their manner. */
const rampPerSecond = 1_000_000;
const calmSecondsMax = 600;
const habits = { onlineMs: 0, bootMs: 0 };
const clock = new SystemClock();

let plan: StormFleet | null = null;
let fleet: DeviceFleet | null = null;
let failedBefore = 0;
let troubles = new FleetTroubles();

const crowd: Crowd = {
  get size() {
    return plan?.count ?? 0;
  },
  get present() {
    return fleet?.tally.inStage('asleep') ?? 0;
  },
  get failed() {
    const { refused = 0, errors = 0 } = fleet?.tally ?? {};
    return refused + errors;
  },
  get reasons() {
    return troubles.list();
  },
};

/** `hasLost`: they begin as modules do that have just lost their connection, and not one after the other. */
function open(of: StormFleet, hasLost: boolean): DeviceFleet {
  const { port, from, count, devices, manner, calmPerSecond } = of;
  const address = `127.0.0.1:${port}`;
  const alone = moduleAlone(address, heartbeatSeconds, moduleRetry[manner]);
  const life = hasLost ? afterLoss(alone) : alone;
  const endpoints = {
    clock,
    signalUrl: null,
    signalTls: undefined,
    sleep: { address, tls: null },
    wakeMode: 'fixed',
    heartbeatSeconds,
    devices,
    onMessage: () => undefined,
  } as const;
  const identities = Array.from({ length: count }, (_, index) => deviceIdentity(from + index));
  const opened = new DeviceFleet(
    identities,
    { life, rampPerSecond: hasLost ? rampPerSecond : calmPerSecond, ...habits },
    {
      clock,
      random: Math.random,
      endpointsOf: (device, number) => openEndpoints(endpoints, device, from + number),
      onWake: () => undefined,
      onAwake: () => undefined,
      onTrouble: (_, error) => void troubles.add(error),
    },
  );
  opened.start();
  return opened;
}

function afterLoss(life: DeviceLife): DeviceLife {
  return {
    begin: (untilMs) => {
      const now = { nowMs: untilMs, random: Math.random(), habits };
      return life.reduce(life.begin(untilMs), { kind: 'sleep-lost' }, now).state;
    },
    reduce: (state, event, now) => life.reduce(state, event, now),
  };
}

/** Held back by nothing but their manner, and not by the pace at which they came first. */
function reopen(): void {
  if (plan === null) throw new Error('nobody is there');
  fleet?.stop();
  troubles = new FleetTroubles();
  fleet = open(plan, true);
  failedBefore = 0;
}

answerQuestions<StormProtocol>(stormService, {
  start: async (of) => {
    plan = of;
    fleet = open(of, false);
    const { present } = await watchReturn(crowd, calmSecondsMax, 0);
    if (present < of.count) throw new Error(`${present} of ${of.count} devices are asleep`);
    return null;
  },
  lost: async () => {
    await untilNone(crowd);
    reopen();
    return null;
  },
  mark: () => {
    failedBefore = crowd.failed;
    troubles = new FleetTroubles();
    return null;
  },
  present: () => crowd.present,
  drop: (manner) => {
    if (plan !== null) plan = { ...plan, manner };
    reopen();
    return null;
  },
  returned: (secondsMax) => watchReturn(crowd, secondsMax, failedBefore),
});
