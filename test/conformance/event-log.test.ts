/** What every implementation of the port EventLog keeps to; the stand-in of the tests is one of them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { EventDraft, LoggedEvent } from '../../src/domain/events.ts';
import type { DeviceId, SessionId } from '../../src/domain/ids.ts';
import { recentEventsOfDeviceMax } from '../../src/domain/limits.ts';
import type { EventLog } from '../../src/ports/event-log.ts';
import { EventRetention } from '../../src/store/event-retention.ts';
import { DraftedEventLog } from '../support/drafted-event-log.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import type { StateTables } from '../../src/store/state-tables.ts';
import { openSharedHouses } from '../support/shared-house.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { temporaryDirectory, temporaryStore, type Ending } from '../support/temporary-store.ts';
import { draftOf, openJournal } from '../support/test-journal.ts';

interface Implementation {
  readonly log: EventLog;
  /** One batch; resolves when it is committed. */
  readonly commit: (...drafts: readonly EventDraft[]) => Promise<void>;
  /** The oldest are forgotten until so many are left. */
  readonly keep: (count: number) => Promise<void>;
}

function store(t: Ending): Implementation {
  const { state } = temporaryStore(t);
  const { journal, events } = openJournal({ state });
  return {
    log: events,
    async commit(...drafts) {
      for (const draft of drafts) events.append(draft);
      await journal.allCommitted();
    },
    keep: (count) => keepNewest(state, events, count),
  };
}

/** Two that write one store in turns, as one of them reads it. */
function processes(t: Ending): Implementation {
  const [reader, other] = openSharedHouses(t, join(temporaryDirectory(t), 'data'), ['1', '2']);
  assert(reader !== undefined && other !== undefined);
  let commits = 0;
  return {
    log: reader.events,
    async commit(...drafts) {
      const writer = commits++ % 2 === 0 ? other : reader;
      for (const draft of drafts) writer.events.append(draft);
      await writer.committed();
      reader.events.refresh();
    },
    keep: (count) => keepNewest(reader.store.state, reader.events, count),
  };
}

async function keepNewest(state: StateTables, log: EventStore, maxCount: number): Promise<void> {
  const batch = (write: () => void): Promise<void> => state.environment.batch(write);
  const bounds = { maxAgeMs: Infinity, maxCount };
  await new EventRetention(state, { ...bounds, clock: new DrivenClock(), log, batch }).forget();
}

function standIn(): Implementation {
  const log = new DraftedEventLog();
  return {
    log,
    commit: (...drafts) => Promise.resolve(log.append(...drafts)),
    keep: (count) => Promise.resolve(log.forget(log.head - log.oldest + 1 - count)),
  };
}

const implementations: Record<string, (t: Ending) => Implementation> = {
  store,
  processes,
  'stand-in': standIn,
};

const sequences = (events: readonly LoggedEvent[]): number[] => events.map(({ sequence }) => sequence);
const drafts = (count: number): EventDraft[] =>
  Array.from({ length: count }, (_, i) => draftOf(`device-${i % 3}`, i));

for (const [name, make] of Object.entries(implementations)) {
  test(`${name}: a log in which nothing happened`, (t) => {
    const { log } = make(t);
    assert.deepEqual([log.head, log.oldest], [0, 1]);
    assert.deepEqual(log.read(0, 10), []);
    assert.deepEqual(log.recentOf('device-0' as DeviceId), []);
  });

  test(`${name}: events are counted from 1, over all devices and for each`, async (t) => {
    const { log, commit } = make(t);
    await commit(...drafts(2));
    await commit(...drafts(2));
    assert.deepEqual([log.head, log.oldest], [4, 1]);
    const events = log.read(0, 10);
    assert.deepEqual(
      events.map(({ sequence, deviceId, seq }) => [sequence, deviceId, seq]),
      [
        [1, 'device-0', 1],
        [2, 'device-1', 1],
        [3, 'device-0', 2],
        [4, 'device-1', 2],
      ],
    );
    const ids = events.map(({ id }) => id);
    assert.deepEqual(ids.toSorted(), ids);
    assert.equal(new Set(ids).size, ids.length);
  });

  test(`${name}: a page begins behind its cursor and ends at its limit or at the head`, async (t) => {
    const { log, commit } = make(t);
    await commit(...drafts(10));
    assert.deepEqual(sequences(log.read(3, 2)), [4, 5]);
    assert.deepEqual(sequences(log.read(8, 5)), [9, 10]);
    assert.deepEqual(log.read(10, 5), []);
    assert.deepEqual(log.read(99, 5), []);
  });

  test(`${name}: an event comes back as it happened`, async (t) => {
    const { log, commit } = make(t);
    const media = { text: 'é', nested: [{ x: 1.5 }], gone: null };
    const data = { session: 'one' as SessionId, node: 'n', replaced: false, media };
    const draft: EventDraft = { ...draftOf('a\0b\n😀'), type: 'device.signal.online', data };
    await commit(draft);
    const [event] = log.read(0, 1);
    const { id: _id, sequence: _sequence, seq: _seq, productId, ...rest } = event ?? assert.fail();
    assert.deepEqual(rest, draft);
    assert.equal(productId, 'doorbell');
  });

  test(`${name}: a device's latest are found newest first, and no more of them than are kept at hand`, async (t) => {
    const { log, commit } = make(t);
    await commit(...drafts(6));
    assert.deepEqual(sequences(log.recentOf('device-1' as DeviceId)), [5, 2]);
    await commit(...drafts(300));
    const latest = log.recentOf('device-0' as DeviceId);
    assert.equal(latest.length, recentEventsOfDeviceMax);
    assert.equal(latest[0]?.sequence, 304);
    assert.ok(latest.every(({ deviceId }) => deviceId === 'device-0'));
  });

  test(`${name}: what is forgotten is read no more, and the numbers go on`, async (t) => {
    const { log, commit, keep } = make(t);
    await commit(...drafts(10));
    await keep(4);
    assert.deepEqual([log.head, log.oldest], [10, 7]);
    assert.deepEqual(sequences(log.read(0, 2)), [7, 8]);
    assert.deepEqual(sequences(log.recentOf('device-0' as DeviceId)), [10, 7]);
    await keep(0);
    assert.deepEqual([log.head, log.oldest], [10, 11]);
    assert.deepEqual(log.read(0, 10), []);
    await commit(draftOf('device-0'));
    assert.deepEqual([log.head, log.oldest], [11, 11]);
    assert.equal(log.read(0, 10)[0]?.seq, 5);
  });

  test(`${name}: who follows is told every batch in order, until it stops`, async (t) => {
    const { log, commit } = make(t);
    const told: number[][] = [];
    const heads: number[] = [];
    await commit(...drafts(1));
    const stop = log.follow((events) => {
      told.push(sequences(events));
      heads.push(log.head);
    });
    const stopOther = log.follow(() => undefined);
    await commit(...drafts(2));
    await commit(...drafts(1));
    stop();
    await commit(...drafts(1));
    stopOther();
    assert.deepEqual(told, [[2, 3], [4]]);
    assert.deepEqual(heads, [3, 4], 'what is told can be read');
  });
}
