/**
 * A backend that sends requests at a fixed rate over a bounded number of connections; requests that become due while all are
 * busy follow.
 */
import { setTimeout as wait } from 'node:timers/promises';

const stepMs = 5;
const connections = 100;

export interface Asked {
  asked: number;
  slowestMs: number;
  readonly failures: Map<string, number>;
}

/** Sends `perSecond` requests until `isOver`, then awaits pending ones. */
export async function askPaced(
  perSecond: number,
  isOver: () => boolean,
  one: (turn: number) => Promise<void>,
): Promise<Asked> {
  const seen: Asked = { asked: 0, slowestMs: 0, failures: new Map() };
  const underWay = new Set<Promise<void>>();
  const startedMs = performance.now();
  while (!isOver()) {
    const due = ((performance.now() - startedMs) / 1000) * perSecond;
    for (; seen.asked < due && underWay.size < connections; seen.asked += 1) {
      const begunMs = performance.now();
      const asking = one(seen.asked)
        .catch((error: unknown) => {
          const what = String(error).slice(0, 160);
          seen.failures.set(what, (seen.failures.get(what) ?? 0) + 1);
        })
        .finally(() => {
          underWay.delete(asking);
          seen.slowestMs = Math.max(seen.slowestMs, Math.round(performance.now() - begunMs));
        });
      underWay.add(asking);
    }
    await wait(stepMs);
  }
  await Promise.all(underWay);
  return seen;
}
