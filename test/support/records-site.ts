/** Dependencies of records in a test. */
import type { ProductId } from '../../src/model/ids.ts';
import { Readiness } from '../../src/telemetry/readiness.ts';
import type { EventLog } from '../../src/core/ports/event-log.ts';
import type { RecordsDeps } from '../../src/server/bootstrap/records.ts';
import { StoreHealth } from '../../src/server/bootstrap/store-health.ts';
import type { RecordStore } from '../../src/storage/journal/committer.ts';
import type { Settings } from '../../src/server/config/settings-schema.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { FakeLog } from './fakes.ts';

export const recordsSettings = {
  wakeup: { known_max: 1000 } as Settings['wakeup'],
  events: { retention_days: 1, retained_max: 100_000 },
};

export function recordsDeps(store: RecordStore): RecordsDeps & { readonly log: FakeLog } {
  const clock = new SystemClock();
  const productOf = (): ProductId => 'doorbell' as ProductId;
  const log = new FakeLog();
  const health = new StoreHealth({ log, readiness: new Readiness() });
  return { clock, node: 'node-1', log, health, productOf, store };
}

/** Resolves when the log has reached `sequence`. */
export function reached(log: Pick<EventLog, 'head' | 'follow'>, sequence: number): Promise<void> {
  return new Promise((resolve) => {
    if (log.head >= sequence) return resolve();
    const stop = log.follow(() => {
      if (log.head < sequence) return;
      stop();
      resolve();
    });
  });
}
