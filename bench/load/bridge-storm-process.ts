/** A farm of idle bridges on one host, in a process of its own: each comes back whenever it is not let in, or is lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { retryDelayMs } from '../../src/tools/simulator/simulated-device.ts';
import { FleetTroubles } from '../../src/tools/simulator/fleet-troubles.ts';
import { BridgeLeg } from '../../src/tools/simulator/media-leg.ts';
import { answerQuestions } from './ipc.ts';
import { bridgeKey } from './played-call.ts';
import { bridgeRetry, stormService, type StormFleet, type StormProtocol } from './storm-protocol.ts';
import { untilNone, watchReturn, type Crowd } from './storm-watch.ts';

const secondsMax = 120;
const legs = new Set<BridgeLeg>();
let plan: StormFleet | null = null;
let failed = 0;
let failedBefore = 0;
let troubles = new FleetTroubles();

const crowd: Crowd = {
  get size() {
    return plan?.count ?? 0;
  },
  get present() {
    return legs.size;
  },
  get failed() {
    return failed;
  },
  get reasons() {
    return troubles.list();
  },
};

/** Its failures in a row end with a connection that is let in; one that is lost is the first of the next. */
async function keepOne({ port, manner: first }: StormFleet): Promise<never> {
  let failures = 0;
  for (;;) {
    try {
      const leg = await BridgeLeg.connect({ url: `ws://127.0.0.1:${port}`, key: bridgeKey });
      failures = 0;
      legs.add(leg);
      await leg.closed;
      legs.delete(leg);
    } catch (error) {
      failed += 1;
      troubles.add(error as Error);
    }
    failures += 1;
    await sleep(retryDelayMs(failures, Math.random(), bridgeRetry[plan?.manner ?? first]));
  }
}

answerQuestions<StormProtocol>(stormService, {
  start: async (farm) => {
    plan = farm;
    for (let count = 0; count < farm.count; count += 1) void keepOne(farm);
    const { present } = await watchReturn(crowd, secondsMax, 0);
    if (present < farm.count) throw new Error(`${present} of ${farm.count} bridges are idle`);
    return null;
  },
  lost: async () => {
    await untilNone(crowd);
    return null;
  },
  mark: () => {
    failedBefore = failed;
    troubles = new FleetTroubles();
    return null;
  },
  present: () => crowd.present,
  drop: async (manner) => {
    if (plan === null) throw new Error('nobody is there');
    plan = { ...plan, manner };
    failedBefore = failed;
    for (const leg of legs) void leg.terminate();
    await untilNone(crowd);
    return null;
  },
  returned: (seconds) => watchReturn(crowd, seconds, failedBefore),
});
