/** The event log in each of its implementations. */
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { EventDraft } from '../../src/model/events.ts';
import { generateEventId, type ProductId } from '../../src/model/ids.ts';
import type { EventLog } from '../../src/core/ports/event-log.ts';
import { EventRetention } from '../../src/storage/events/event-retention.ts';
import type { EventStore } from '../../src/storage/events/event-store.ts';
import type { StateTables } from '../../src/storage/lmdb/state-tables.ts';
import { DraftedEventLog } from './drafted-event-log.ts';
import type { JoinGround } from './node-ground.ts';
import { NodesSite } from './nodes-site.ts';
import { temporaryStore, type Ending } from './temporary-store.ts';
import { openJournal } from './test-journal.ts';

export interface KeptLog {
  readonly log: EventLog;
  readonly idsAscend: boolean;
  /** Commits the drafts one after another if there are several writers; resolves when the log has them. */
  readonly commit: (...drafts: readonly EventDraft[]) => Promise<void>;
  /** Drops the oldest events until `count` are left. */
  readonly keep: (count: number) => Promise<void>;
}

export type MakeKeptLog = (t: Ending) => Promise<KeptLog>;

export async function draftedLog(): Promise<KeptLog> {
  const log = new DraftedEventLog();
  return {
    log,
    idsAscend: true,
    commit: (...drafts) => Promise.resolve(log.append(...drafts)),
    keep: (count) => Promise.resolve(log.forget(log.head - log.oldest + 1 - count)),
  };
}

export async function storeLog(t: Ending): Promise<KeptLog> {
  const { state } = temporaryStore(t);
  const { journal, events } = openJournal({ state });
  return {
    log: events,
    idsAscend: true,
    async commit(...drafts) {
      for (const draft of drafts) events.append(draft);
      await journal.allCommitted();
    },
    keep: (count) => keepNewest(state, events, count),
  };
}

/** Two nodes that write to the shared log in turns; read through one node's mirror. */
export async function nodesLog(t: Ending, join: JoinGround): Promise<KeptLog> {
  const { one: reader, other } = await NodesSite.start(t, join);
  const productId = 'doorbell' as ProductId;
  const { events } = reader.records;
  let commits = 0;
  let made = 0;
  return {
    log: events,
    idsAscend: false,
    async commit(...drafts) {
      const { stream } = commits++ % 2 === 0 ? other : reader;
      for (const draft of drafts)
        await stream.publish({ id: generateEventId(draft.atMs, (made += 1)), draft, productId });
      await reader.mirrored();
    },
    keep: (count) => keepNewest(reader.store.state, events, count),
  };
}

async function keepNewest(state: StateTables, log: EventStore, maxCount: number): Promise<void> {
  const batch = (write: () => void): Promise<void> => state.environment.transaction(write);
  const bounds = { maxAgeMs: Infinity, maxCount };
  await new EventRetention(state, { ...bounds, clock: new SystemClock(), log, batch }).forget();
}
