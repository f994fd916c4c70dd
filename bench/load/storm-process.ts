/** A process of modules that reconnect together: those of `reveille simulate`, with another backoff. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeviceFleet } from '../../src/tools/simulator/device-fleet.ts';
import { FleetTroubles } from '../../src/tools/simulator/fleet-tally.ts';
import type { SleepRetry } from '../../src/model/product-defaults.ts';
import { moduleAlone, type DeviceLife } from '../../src/tools/simulator/simulated-device.ts';
import { openFleet } from '../../test/support/simulated-fleet.ts';
import { answerQuestions } from '../harness/ipc.ts';
import { monotonicMs } from '../harness/latency.ts';
import { deviceIdentity } from './population.ts';

interface StormPlan {
  readonly sleepPort: number;
  readonly count: number;
  readonly retry: SleepRetry;
  readonly calmPerSecond: number;
}

export interface ReturnReading {
  /** Times on the shared clock at which 50 % and all of the modules are back. */
  readonly halfMs: number;
  readonly allMs: number;
  readonly failed: number;
  /** Modules that are back; fewer than all after a timeout. */
  readonly present: number;
  /** Reasons of failed attempts, in descending order of frequency. */
  readonly reasons: readonly string[];
}

export type StormProtocol = {
  start: { take: StormPlan; give: null };
  /** Answered when all connections are lost; the modules then reconnect. */
  lost: { take: null; give: null };
  /** Answers when all are back, or after this many seconds; counts failed attempts from now on. */
  returned: { take: number; give: ReturnReading };
};

const heartbeatSeconds = 50;
/** Unlimited: only the server and the backoff limit logins. */
const rampPerSecond = 1_000_000;
const calmSecondsMax = 600;
const lookMs = 20;
const habits = { onlineMs: 0, bootMs: 0 };

let plan: StormPlan | null = null;
let fleet: DeviceFleet | null = null;
let troubles = new FleetTroubles();

function present(): number {
  return fleet?.tally.inStage('asleep') ?? 0;
}

function failed(): number {
  const { refused = 0, errors = 0 } = fleet?.tally ?? {};
  return refused + errors;
}

/** `hasLost`: the modules start as if they had just lost their connection, instead of one after another. */
function open({ sleepPort, count, retry, calmPerSecond }: StormPlan, hasLost: boolean): DeviceFleet {
  const alone = moduleAlone(`127.0.0.1:${sleepPort}`, heartbeatSeconds, retry);
  const opened = openFleet({
    devices: Array.from({ length: count }, (_, index) => deviceIdentity(index)),
    life: hasLost ? afterLoss(alone) : alone,
    ...habits,
    rampPerSecond: hasLost ? rampPerSecond : calmPerSecond,
    sleepPort,
    heartbeatSeconds,
    wakeMode: 'fixed',
    onTrouble: (error) => void troubles.add(error),
  });
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

async function watchReturn(count: number, secondsMax: number): Promise<ReturnReading> {
  const endMs = monotonicMs() + secondsMax * 1000;
  const failedBefore = failed();
  troubles = new FleetTroubles();
  let halfMs: number | null = null;
  for (;;) {
    const nowMs = monotonicMs();
    if (present() >= count / 2) halfMs ??= nowMs;
    if (present() >= count || nowMs > endMs) {
      const reasons = troubles.list().map((trouble) => `${trouble.count} × ${trouble.reason}`);
      const counts = { failed: failed() - failedBefore, present: present() };
      return { halfMs: halfMs ?? nowMs, allMs: nowMs, ...counts, reasons };
    }
    await sleep(lookMs);
  }
}

function planned(): StormPlan {
  if (plan === null) throw new Error('no modules were started');
  return plan;
}

answerQuestions<StormProtocol>({
  start: async (started) => {
    plan = started;
    fleet = open(started, false);
    const { present: asleep } = await watchReturn(started.count, calmSecondsMax);
    if (asleep < started.count) throw new Error(`${asleep} of ${started.count} devices are asleep`);
    return null;
  },
  lost: async () => {
    while (present() > 0) await sleep(lookMs);
    fleet?.stop();
    fleet = open(planned(), true);
    return null;
  },
  returned: (secondsMax) => watchReturn(planned().count, secondsMax),
});
