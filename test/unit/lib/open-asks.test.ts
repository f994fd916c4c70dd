import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, succeed } from '../../../src/lib/result.ts';
import { OpenAsks } from '../../../src/lib/link/open-asks.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

interface Answers {
  readonly disconnect: boolean;
  readonly metrics: string;
}
type Failure = 'unsent' | 'unanswered' | 'nobody';

function openAsks(
  clock: DrivenClock,
  expired: (id: number) => Failure = () => 'unanswered',
): OpenAsks<Answers, Failure> {
  return new OpenAsks(clock, { max: 100, unsent: 'unsent', expired });
}

const taken = (): boolean => true;

async function outcomesOf(asks: readonly Promise<unknown>[]): Promise<unknown[]> {
  return await Promise.all(asks.map((ask) => Promise.race([ask, Promise.resolve('open')])));
}

test('a question is resolved once, by the first answer or failure', async () => {
  const asks = openAsks(new DrivenClock());
  const ids: number[] = [];
  const ask = asks.ask('disconnect', 1000, (id) => ids.push(id) > 0);
  const [id = 0] = ids;
  assert.equal(asks.answered(id, 'disconnect', true), true);
  asks.failed(id, 'nobody');
  assert.equal(asks.answered(id, 'disconnect', false), true);
  assert.deepEqual(await ask, succeed(true));
  assert.equal(asks.size, 0);
});

test('an answer to another kind of question resolves nothing', async () => {
  const asks = openAsks(new DrivenClock());
  let asked = 0;
  const ask = asks.ask('disconnect', 1000, (id) => (asked = id) > 0);
  assert.equal(asks.answered(asked, 'metrics', ''), false);
  assert.deepEqual(await outcomesOf([ask]), ['open']);
});

test('a question fails as unsent if its delivery fails or its time is 0', async () => {
  const asks = openAsks(new DrivenClock());
  assert.deepEqual(await asks.ask('metrics', 1000, () => false), fail('unsent'));
  let sent = 0;
  assert.deepEqual(await asks.ask('metrics', 0, () => (sent += 1) > 0), fail('unsent'));
  assert.deepEqual([sent, asks.size], [0, 0]);
});

test('each question expires at its own deadline, never early and hardly late, with one timer for all', async () => {
  const clock = new DrivenClock();
  const lates: number[] = [];
  const asks = openAsks(clock, (id) => {
    lates.push(id);
    return id === 1 ? 'unsent' : 'unanswered';
  });
  const open = [1800, 75, 75, 20_000].map((waitMs) => asks.ask('metrics', waitMs, taken));
  assert.equal(clock.pendingTimers, 1);
  clock.advance(74);
  assert.deepEqual(lates, []);
  clock.advance(51);
  assert.deepEqual(lates, [2, 3]);
  clock.advance(1715);
  clock.advance(10);
  assert.deepEqual(await outcomesOf(open), [fail('unsent'), fail('unanswered'), fail('unanswered'), 'open']);
  clock.advance(18_200);
  assert.deepEqual([asks.size, clock.pendingTimers], [0, 0]);
});

test('a question without a deadline needs no timer', async () => {
  const clock = new DrivenClock();
  const asks = openAsks(clock);
  const open = asks.ask('disconnect', Infinity, taken);
  assert.equal(clock.pendingTimers, 0);
  void asks.ask('metrics', 10, taken);
  clock.advance(1000);
  assert.deepEqual([await outcomesOf([open]), asks.size, clock.pendingTimers], [['open'], 1, 0]);
  asks.answered(1, 'disconnect', true);
  assert.deepEqual(await open, succeed(true));
});

test('deadlines are right after a long time without questions', async () => {
  const clock = new DrivenClock();
  const asks = openAsks(clock);
  const first = asks.ask('metrics', 10, taken);
  clock.advance(100_003);
  const second = asks.ask('metrics', 1000, taken);
  clock.advance(999);
  assert.deepEqual(await outcomesOf([first, second]), [fail('unanswered'), 'open']);
  clock.advance(51);
  assert.deepEqual(await second, fail('unanswered'));
});

test('failAll resolves each question by its verdict, or leaves it open', async () => {
  const asks = openAsks(new DrivenClock());
  const open = [1, 2, 3].map(() => asks.ask('metrics', 1000, taken));
  asks.failAll((id) => (id === 1 ? 'nobody' : id === 2 ? 'unanswered' : null));
  assert.deepEqual(await outcomesOf(open), [fail('nobody'), fail('unanswered'), 'open']);
  asks.failAll();
  assert.deepEqual(await open[2], fail('unanswered'));
});
