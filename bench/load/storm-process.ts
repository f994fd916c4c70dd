/** Modules that come back together, in a process of their own: those of `reveille simulate`, with another wait before they retry. */
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
  /** Logins a second before there is a storm. */
  readonly calmPerSecond: number;
}

export interface ReturnReading {
  /** On the clock that all processes share: half of them are back, and all. */
  readonly halfMs: number;
  readonly allMs: number;
  /** Attempts that were refused or broke off. */
  readonly failed: number;
  /** Modules that are back: fewer than all when that took too long. */
  readonly present: number;
  /** Why attempts failed, the most frequent reason first. */
  readonly reasons: readonly string[];
}

export type StormProtocol = {
  /** Answered when all are asleep. */
  start: { take: StormPlan; give: null };
  /** Answered when all have lost their connections; from then on they come back. */
  lost: { take: null; give: null };
  /** When all are back, or after so many seconds; failed attempts count from now on. */
  returned: { take: number; give: ReturnReading };
};

const heartbeatSeconds = 50;
/** No bound: only the server and their wait limit them. */
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

/** `hasLost`: they begin as modules do that have just lost their connection, and not one after the other. */
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
