/** What keeps a repeated push from calling twice. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { KnownRooms } from '../../../docs/examples/backend/known-rooms.ts';

let nowMs: number;
let asked: string[];
let rooms: KnownRooms<string>;

beforeEach(() => {
  nowMs = 1000;
  asked = [];
  rooms = new KnownRooms({ roomsMax: 2, rememberMs: 100, now: () => nowMs });
});

function push(
  roomId: string,
  answer: Promise<string> = Promise.resolve(`answer ${asked.length}`),
): Promise<string> | null {
  const decide = (): Promise<string> => {
    asked.push(roomId);
    return answer;
  };
  return rooms.answer(roomId, decide)?.answer ?? null;
}

test('a room that is pushed again has the answer of the first push, and is not asked for', async () => {
  assert.equal(await push('a'), 'answer 0');
  assert.equal(await push('a'), 'answer 0');
  assert.deepEqual(asked, ['a']);
});

test('a push that comes while the first is under way waits for its answer', async () => {
  let decide: (answer: string) => void = assert.fail;
  const first = push('a', new Promise((resolve) => (decide = resolve)));
  const second = push('a');
  decide('in the end');
  assert.deepEqual(await Promise.all([first, second]), ['in the end', 'in the end']);
  assert.deepEqual(asked, ['a']);
});

test('the first push of a room is told from a repeated one', () => {
  assert.equal(rooms.answer('a', () => Promise.resolve('x'))?.isNew, true);
  assert.equal(rooms.answer('a', () => Promise.resolve('x'))?.isNew, false);
});

test('a room is forgotten when its time is over, and not before', () => {
  push('a');
  nowMs = 1099;
  push('a');
  nowMs = 1100;
  push('a');
  assert.deepEqual(asked, ['a', 'a']);
});

test('a new room is refused while all places are taken, and a known one is answered', async () => {
  push('a');
  nowMs = 1050;
  push('b');
  assert.equal(push('c'), null);
  assert.equal(await push('b'), 'answer 1');
  nowMs = 1100;
  assert.equal(await push('c'), 'answer 2');
  assert.equal(rooms.size, 2);
});
