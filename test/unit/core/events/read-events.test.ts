import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventPage, EventsStart } from '../../../../src/model/events.ts';
import type { ApplicationId, ProductId } from '../../../../src/model/ids.ts';
import { eventsScannedMax } from '../../../../src/model/limits.ts';
import { EventWaiters } from '../../../../src/core/events/event-waiters.ts';
import { FairQueue } from '../../../../src/lib/collections/fair-queue.ts';
import {
  readEvents,
  type EventsAnswer,
  type ReadEventsDeps,
  scanQueueShape,
} from '../../../../src/core/events/read-events.ts';
import { WaitingReaders } from '../../../../src/core/events/waiting-readers.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { ScriptedEventLog } from '../../../support/scripted-event-log.ts';
import { FakeLog, FakeRegistry, otherApp, testApp } from '../../../support/fakes.ts';

const [mine, theirs] = ['doorbell', 'gate'];

interface Asked {
  readonly appId?: ApplicationId;
  readonly start?: EventsStart;
  readonly limit?: number;
  readonly waitMs?: number;
}

class Scene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly events = new ScriptedEventLog();
  readonly log = new FakeLog();
  readonly readers: WaitingReaders;
  readonly waiters: EventWaiters;
  readonly queue = new FairQueue(scanQueueShape);
  cluster: ReadEventsDeps['cluster'] = null;
  /** Disconnects the latest reader. */
  hangUp: () => void = () => assert.fail('nobody has asked');

  constructor(perApplicationMax = 100) {
    this.readers = new WaitingReaders(this.clock, { max: 1000, perApplicationMax });
    this.assign(theirs, otherApp);
    this.waiters = new EventWaiters(this);
  }

  assign(product: string, ...appIds: ApplicationId[]): void {
    this.registry.products.set(product, { productId: product as ProductId, appIds });
  }

  ask({ appId = testApp, start = 'oldest', limit = 100, waitMs = 0 }: Asked = {}): Promise<EventsAnswer> {
    const onGone = (listener: () => void): void => {
      this.hangUp = listener;
    };
    return readEvents(this, { appId, start, limit, waitMs, onGone });
  }

  async page(asked: Asked = {}): Promise<EventPage> {
    return pageOf(await this.ask(asked));
  }

  /** Requests with a wait of 30 s, and returns once the reader waits. */
  async waitingReader(asked: Asked = {}): Promise<{ answer: Promise<EventPage>; settled: () => boolean }> {
    const before = this.clock.pendingTimers;
    let settled = false;
    const answer = this.page({ waitMs: 30_000, ...asked }).finally(() => {
      settled = true;
    });
    for (let turns = 0; this.clock.pendingTimers === before; turns++) {
      assert.ok(turns < 1000 && !settled, 'the reader waits');
      await turn();
    }
    return { answer, settled: () => settled };
  }
}

const turn = (): Promise<void> => new Promise(setImmediate);

async function someTurns(): Promise<void> {
  for (let i = 0; i < 10; i++) await turn();
}

function pageOf(answer: EventsAnswer): EventPage {
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.value;
}

function sequences({ events }: EventPage): number[] {
  return events.map(({ sequence }) => sequence);
}

test("a page holds the events of the caller's products in the order of the log, and nothing else", async () => {
  const scene = new Scene();
  scene.events.commit(mine, theirs, null, mine, 'a product nobody has', mine);
  const page = await scene.page();
  assert.deepEqual(sequences(page), [1, 4, 6]);
  assert.deepEqual({ next: page.next, truncated: page.truncated }, { next: 6, truncated: false });
});

test('the log is followed only while a reader waits', async () => {
  const scene = new Scene();
  await scene.page();
  assert.equal(scene.events.followers, 0);
  const readers = [await scene.waitingReader(), await scene.waitingReader()];
  assert.equal(scene.events.followers, 1);
  scene.events.commit(mine);
  await Promise.all(readers.map(({ answer }) => answer));
  assert.equal(scene.events.followers, 0);
  scene.events.commit(theirs);
  const late = await scene.waitingReader({ start: 'latest' });
  scene.events.commit(mine);
  assert.deepEqual(sequences(await late.answer), [3]);
});

test('a product of several applications is in the pages of each', async () => {
  const scene = new Scene();
  scene.assign(mine, testApp, otherApp);
  scene.events.commit(mine, theirs);
  assert.deepEqual(sequences(await scene.page()), [1]);
  assert.deepEqual(sequences(await scene.page({ appId: otherApp })), [1, 2]);
});

test('passing next back misses and repeats nothing, whatever the limit', async () => {
  const scene = new Scene();
  const products = Array.from({ length: 500 }, (_, i) => (i % 3 === 0 ? mine : theirs));
  scene.events.commit(...products);
  const expected = products.flatMap((product, i) => (product === mine ? [i + 1] : []));
  for (const limit of [1, 7, 100, 167, 1000]) {
    const seen: number[] = [];
    let start: EventsStart = 'oldest';
    for (let pages = 0; ; pages++) {
      assert.ok(pages < 200, 'it comes to the end');
      const page = await scene.page({ start, limit });
      assert.ok(page.events.length <= limit);
      seen.push(...sequences(page));
      if (page.events.length === 0) break;
      start = page.next;
    }
    assert.deepEqual(seen, expected, `limit ${limit}`);
  }
});

test('with the limit reached exactly, next is the last returned event', async () => {
  const scene = new Scene();
  scene.events.commit(mine, theirs, mine, theirs, mine);
  const page = await scene.page({ limit: 2 });
  assert.deepEqual([sequences(page), page.next], [[1, 3], 3]);
  const rest = await scene.page({ limit: 1, start: page.next });
  assert.deepEqual([sequences(rest), rest.next], [[5], 5]);
});

test("next advances also if no event is the caller's", async () => {
  const scene = new Scene();
  scene.events.commit(theirs, theirs, null);
  const page = await scene.page();
  assert.deepEqual([sequences(page), page.next], [[], 3]);
});

test('one request scans a bounded number of events, and the next continues from there', async () => {
  const scene = new Scene();
  scene.events.commit(...Array.from({ length: eventsScannedMax + 10 }, () => theirs), mine);
  const first = await scene.page({ waitMs: 30_000 });
  assert.deepEqual([sequences(first), first.next], [[], eventsScannedMax]);
  const second = await scene.page({ start: first.next });
  assert.deepEqual(sequences(second), [eventsScannedMax + 11]);
});

test('a cursor older than the log begins at the oldest event, and is marked as truncated', async () => {
  const scene = new Scene();
  scene.events.commit(mine, mine, mine, mine);
  scene.events.forget(2);
  const page = await scene.page({ start: 1 });
  assert.deepEqual([sequences(page), page.truncated], [[3, 4], true]);
  const whole = await scene.page({ start: 2 });
  assert.deepEqual([sequences(whole), whole.truncated], [[3, 4], false]);
});

test('without a cursor it begins at the oldest that is kept, and nothing is missing', async () => {
  const scene = new Scene();
  scene.events.commit(mine, mine, mine);
  scene.events.forget(2);
  const page = await scene.page();
  assert.deepEqual([sequences(page), page.truncated], [[3], false]);
});

test('with everything forgotten an old cursor is truncated, at the head, and the answer does not wait', async () => {
  const scene = new Scene();
  scene.events.commit(mine, mine);
  scene.events.forget(2);
  const page = await scene.page({ start: 0, waitMs: 30_000 });
  assert.deepEqual([sequences(page), page.next, page.truncated], [[], 2, true]);
});

test('a cursor ahead of the log is truncated and begins at the head', async () => {
  const scene = new Scene();
  scene.events.commit(mine);
  const page = await scene.page({ start: 50, waitMs: 30_000 });
  assert.deepEqual([sequences(page), page.next, page.truncated], [[], 1, true]);
});

test('a cursor from another member is awaited: nothing is missed, repeated or marked as truncated', async () => {
  const scene = new Scene();
  scene.cluster = { logReaches: async (sequence) => sequence <= 3 };
  scene.events.commit(mine);
  const page = await scene.page({ start: 3 });
  assert.deepEqual(page, { events: [], next: 3, truncated: false });
  const { answer, settled } = await scene.waitingReader({ start: 3 });
  scene.events.commit(mine, mine);
  await someTurns();
  assert.equal(settled(), false);
  scene.events.commit(mine);
  assert.deepEqual(sequences(await answer), [4]);
});

test('a cursor ahead of the shared log is truncated, unless the log has reached it meanwhile', async () => {
  const scene = new Scene();
  scene.events.commit(mine);
  scene.cluster = { logReaches: async () => false };
  const page = await scene.page({ start: 3, waitMs: 30_000 });
  assert.deepEqual([sequences(page), page.next, page.truncated], [[], 1, true]);
  scene.cluster = {
    logReaches: async () => {
      scene.events.commit(mine, mine, mine);
      return false;
    },
  };
  const later = await scene.page({ start: 3 });
  assert.deepEqual([sequences(later), later.truncated], [[4], false]);
});

test('events that are dropped during a read leave a page marked as truncated', async () => {
  const scene = new Scene();
  scene.events.commit(...Array.from({ length: 3000 }, () => theirs), mine);
  scene.events.afterRead = () => {
    if (scene.events.reads.length === 2) scene.events.forget(2500);
  };
  const page = await scene.page({ start: 0 });
  assert.deepEqual([sequences(page), page.truncated], [[3001], true]);
});

test('latest begins at now', async () => {
  const scene = new Scene();
  scene.events.commit(mine, mine);
  const page = await scene.page({ start: 'latest' });
  assert.deepEqual([sequences(page), page.next], [[], 2]);
  const { answer } = await scene.waitingReader({ start: 'latest' });
  scene.events.commit(mine);
  assert.deepEqual(sequences(await answer), [3]);
});

test('an empty log answers an empty page whose cursor holds from then on', async () => {
  const scene = new Scene();
  const page = await scene.page();
  assert.deepEqual(page, { events: [], next: 0, truncated: false });
  scene.events.commit(mine);
  const later = await scene.page({ start: page.next });
  assert.deepEqual([sequences(later), later.truncated], [[1], false]);
});

test('with an available event, or without a wait, no reader waits', async () => {
  const scene = new Scene();
  await scene.page();
  scene.events.commit(mine);
  await scene.page({ waitMs: 30_000 });
  assert.equal(scene.clock.pendingTimers, 0);
  assert.equal(scene.readers.size, 0);
});

test("a waiting reader is answered when an event of its application's products is committed", async () => {
  const scene = new Scene();
  const { answer } = await scene.waitingReader();
  scene.events.commit(theirs, mine, theirs);
  const page = await answer;
  assert.deepEqual([sequences(page), page.next], [[2], 3]);
  assert.equal(scene.readers.size, 0);
});

test('a waiting reader is answered with an empty page at its deadline, and next is the head by then', async () => {
  const scene = new Scene();
  const { answer } = await scene.waitingReader();
  scene.events.commit(theirs, theirs);
  scene.events.commit(null);
  scene.clock.advance(30_000);
  const page = await answer;
  assert.deepEqual([sequences(page), page.next, page.truncated], [[], 3, false]);
});

test("other applications' events cost a waiting reader nothing: they are neither read nor do they wake it", async () => {
  const scene = new Scene();
  const { answer, settled } = await scene.waitingReader();
  const reads = scene.events.reads.length;
  for (let i = 0; i < 1000; i++) scene.events.commit(theirs, null);
  await someTurns();
  assert.equal(settled(), false);
  assert.equal(scene.events.reads.length, reads);
  scene.events.commit(mine);
  const page = await answer;
  assert.deepEqual(sequences(page), [2001]);
  assert.deepEqual(
    scene.events.reads.slice(reads).map(({ after }) => after),
    [2000],
  );
});

test('an event committed between the scan and the wait is not missed', async () => {
  const scene = new Scene();
  scene.events.afterRead = () => {
    scene.events.afterRead = () => undefined;
    queueMicrotask(() => scene.events.commit(theirs, mine));
  };
  scene.events.commit(theirs);
  assert.deepEqual(sequences(await scene.page({ waitMs: 30_000 })), [3]);
});

test('an event committed in the turn of the request, before the scan, is not missed', async () => {
  const scene = new Scene();
  const answer = scene.page({ start: 'latest', waitMs: 30_000 });
  scene.events.commit(mine);
  assert.deepEqual(sequences(await answer), [1]);
});

test('an event committed in the turn of the deadline is returned, or left for the next page', async () => {
  const scene = new Scene();
  const { answer } = await scene.waitingReader();
  scene.clock.advance(30_000);
  scene.events.commit(mine);
  const page = await answer;
  const rest = await scene.page({ start: page.next });
  assert.deepEqual([...sequences(page), ...sequences(rest)], [1]);
});

test('two batches for one waiting reader in one turn are both returned', async () => {
  const scene = new Scene();
  const { answer } = await scene.waitingReader();
  scene.events.commit(mine);
  scene.events.commit(mine);
  assert.deepEqual(sequences(await answer), [1, 2]);
});

test('a drain answers waiting readers at once, and later ones with the available events', async () => {
  const scene = new Scene();
  const { answer } = await scene.waitingReader();
  scene.events.commit(theirs);
  scene.readers.wakeAll();
  const page = await answer;
  assert.deepEqual([sequences(page), page.next], [[], 1]);
  const late = await scene.page({ waitMs: 30_000 });
  assert.deepEqual(sequences(late), []);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('hanging up frees the slot of a reader that waits', async () => {
  const scene = new Scene(1);
  const { answer } = await scene.waitingReader();
  assert.deepEqual(await scene.ask({ waitMs: 1 }), {
    ok: false,
    error: { code: 42901, message: 'too many requests wait for events' },
  });
  scene.hangUp();
  await answer;
  assert.equal(scene.readers.size, 0);
  assert.equal(scene.clock.pendingTimers, 0);
  await scene.page();
});

test('hanging up ends a long scan of the log', async () => {
  const scene = new Scene();
  scene.events.commit(...Array.from({ length: 20_000 }, () => theirs));
  scene.events.afterRead = () => {
    if (scene.events.reads.length === 3) scene.hangUp();
  };
  await scene.page();
  assert.equal(scene.events.reads.length, 3);
  assert.equal(scene.readers.size, 0);
});

test('events of a product that moves to another application during a wait are no longer returned', async () => {
  const scene = new Scene();
  const { answer, settled } = await scene.waitingReader();
  scene.assign(mine, otherApp);
  scene.events.commit(mine);
  await someTurns();
  assert.equal(settled(), false);
  scene.clock.advance(30_000);
  assert.deepEqual(sequences(await answer), []);
});

test('events of a product that is added to the application during a wait are returned from then on', async () => {
  const scene = new Scene();
  const { answer } = await scene.waitingReader();
  scene.events.commit(theirs);
  scene.assign(theirs, testApp);
  const [second] = scene.events.commit(theirs);
  assert.deepEqual(sequences(await answer), [second]);
});

test('a product that is removed between the wake and the scan leaves the reader waiting', async () => {
  const scene = new Scene();
  const { answer, settled } = await scene.waitingReader();
  scene.events.commit(mine);
  scene.assign(mine, otherApp);
  await someTurns();
  assert.equal(settled(), false);
  scene.assign(mine, testApp);
  scene.events.commit(mine);
  assert.deepEqual(sequences(await answer), [2]);
});

test('readers of the same page get the same events, each woken by one batch', async () => {
  const scene = new Scene();
  const readers = [];
  for (let i = 0; i < 50; i++) readers.push(await scene.waitingReader());
  scene.events.commit(theirs, mine);
  const pages = await Promise.all(readers.map(({ answer }) => answer));
  for (const page of pages) assert.equal(page.events[0], pages[0]?.events[0]);
  assert.deepEqual(
    pages.map(({ events }) => events.length),
    pages.map(() => 1),
  );
});

test('a log that cannot be read is 50301 and frees the slot', async () => {
  const scene = new Scene();
  scene.events.commit(mine);
  scene.events.failure = new Error('gone');
  assert.deepEqual(await scene.ask(), {
    ok: false,
    error: { code: 50301, message: 'events cannot be read now' },
  });
  assert.equal(scene.readers.size, 0);
  assert.equal(scene.log.lines.length, 1);
});

test('an unreadable registry is 50301, also for readers that wait when an event arrives', async () => {
  const scene = new Scene();
  const waiting = await scene.waitingReader();
  const failed = assert.rejects(waiting.answer, /50301/);
  scene.registry.failure = new Error('gone');
  scene.events.commit(mine);
  await failed;
  const answer = await scene.ask();
  assert.equal(answer.ok ? 0 : answer.error.code, 50301);
});
