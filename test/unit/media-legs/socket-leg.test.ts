import { callMedia } from '../../support/call-scene.ts';
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { LegCloseReason, LegMessage } from '../../../src/domain/call.ts';
import { generateSessionId } from '../../../src/domain/ids.ts';
import { legFaultsMax } from '../../../src/domain/limits.ts';
import type { FrameSocket } from '../../../src/media-legs/frame-socket.ts';
import type { Guest } from '../../../src/media-legs/leg-hall.ts';
import { bridgeSide } from '../../../src/media-legs/leg-side.ts';
import { SocketLeg } from '../../../src/media-legs/socket-leg.ts';
import { FakeOpenLeg } from '../../support/fake-call-desk.ts';

class FakeFrameSocket implements FrameSocket {
  readonly said: string[] = [];
  bufferedAmount = 0;
  bytesRead = 0;
  isCut = false;

  send(text: string): void {
    if (!this.isCut) this.said.push(text);
  }
  ping(): void {
    this.send('ping');
  }
  close(code: number, reason: string): void {
    this.send(`${code} ${reason}`);
  }
  terminate(): void {
    this.isCut = true;
  }
}

const sessionId = generateSessionId();
const assign: LegMessage = { kind: 'assign', sessionId, media: callMedia };
const assignText = `{"type":"assign","session":"${sessionId}"}`;
const accept = Buffer.from('{"type":"accept"}');
const nonsense = Buffer.from('nonsense');
const frame = Buffer.from('01010001028001e000000000ff', 'hex');

let socket: FakeFrameSocket;
let guests: Set<Guest>;
let leaving: Set<Guest>;
let leg: SocketLeg;
let house: FakeOpenLeg;
beforeEach(() => {
  socket = new FakeFrameSocket();
  guests = new Set();
  leaving = new Set();
  leg = new SocketLeg(socket, { guests, leaving });
  house = new FakeOpenLeg('bridge', leg, () => undefined);
});

function enter(): boolean {
  return leg.enter(() => bridgeSide(house));
}

/** Everything that can come of a peer and of the house, after which nothing may have changed. */
function goOn(): void {
  leg.received(accept, false);
  leg.received(frame, true);
  leg.received(nonsense, false);
  leg.pinged();
  leg.tell(assign);
  leg.close('drain');
  leg.failed();
  leg.gone();
  leg.drop();
}

const closes: readonly (readonly [LegCloseReason, string])[] = [
  ['ended', '1000 ended'],
  ['replaced', '4409 replaced'],
  ['revoked', '4401 revoked'],
  ['drain', '4503 draining'],
];
for (const [reason, close] of closes)
  test(`a leg that the house closes as ${reason} is told ${close}, and says nothing of it`, () => {
    enter();
    leg.close(reason);
    assert.deepEqual([guests.size, leaving.size], [0, 1]);
    goOn();
    assert.deepEqual(socket.said, [close]);
    assert.deepEqual([house.goneTimes, house.signs, house.reports, house.answers], [0, [], [], []]);
    assert.deepEqual([guests.size, leaving.size], [0, 0]);
  });

test('a leg whose peer is gone says so once, whatever comes after it', () => {
  enter();
  assert.equal(guests.size, 1);
  leg.gone();
  goOn();
  assert.deepEqual([house.goneTimes, house.signs, socket.said], [1, [], []]);
  assert.deepEqual([guests.size, leaving.size], [0, 0]);
});

test('a leg whose socket closes itself for what came is gone at once, and leaves when it is closed', () => {
  enter();
  leg.failed();
  assert.deepEqual([house.goneTimes, guests.size, leaving.size], [1, 0, 1]);
  goOn();
  assert.deepEqual([house.goneTimes, house.signs, socket.said, leaving.size], [1, [], [], 0]);
});

test('a leg is asked at every beat, and is cut when nothing has come since the last', () => {
  enter();
  leg.beat();
  socket.bytesRead = 6;
  leg.beat();
  assert.deepEqual([socket.said, socket.isCut], [['ping', 'ping'], false]);
  leg.beat();
  assert.deepEqual([socket.said.length, socket.isCut, house.goneTimes], [2, true, 0]);
  leg.gone();
  assert.deepEqual([house.goneTimes, house.signs], [1, []]);
});

test('a leg that is dropped is cut, and tells nobody', () => {
  enter();
  leg.drop();
  goOn();
  assert.deepEqual([house.goneTimes, socket.said, socket.isCut, guests.size], [0, [], true, 0]);
});

test('a leg that comes too late is closed as ended', () => {
  assert.equal(
    leg.enter(() => null),
    false,
  );
  goOn();
  assert.deepEqual([socket.said, guests.size], [['1000 ended'], 0]);
});

test('what the house says while it lets a leg in is said', () => {
  leg.enter((opening) => {
    opening.tell(assign);
    return bridgeSide(house);
  });
  assert.deepEqual(socket.said, [assignText]);
});

test('a leg that the house closes while it lets it in is closed, and says nothing', () => {
  leg.enter((opening) => {
    opening.close('replaced');
    return bridgeSide(house);
  });
  goOn();
  assert.deepEqual([socket.said, house.goneTimes, guests.size], [['4409 replaced'], 0, 0]);
});

test('a leg that is told something behind 256 KiB it has not read is cut and gone', () => {
  enter();
  socket.bufferedAmount = 256 * 1024;
  leg.tell(assign);
  socket.bufferedAmount += 1;
  leg.tell(assign);
  assert.deepEqual([socket.said, socket.isCut], [[assignText], true]);
  leg.gone();
  goOn();
  assert.equal(house.goneTimes, 1);
});

test('a leg that pings and does not read is cut and gone', () => {
  enter();
  socket.bufferedAmount = 256 * 1024;
  leg.pinged();
  assert.deepEqual([house.signs, socket.isCut], [['ping'], false]);
  socket.bufferedAmount += 1;
  leg.pinged();
  leg.gone();
  assert.deepEqual([house.signs, socket.isCut, house.goneTimes], [['ping'], true, 1]);
});

test('frames and pings are signs of life, and what is not understood is none', () => {
  enter();
  leg.received(frame, true);
  leg.pinged();
  leg.received(accept, true);
  leg.received(nonsense, false);
  assert.deepEqual(house.signs, ['media', 'ping']);
  assert.equal(socket.said.length, 2);
});

test('the hundredth message that is not understood is answered, and is the last', () => {
  enter();
  for (let i = 1; i < legFaultsMax; i++) leg.received(nonsense, i % 2 === 0);
  leg.received(accept, false);
  assert.deepEqual([house.answers, house.goneTimes], [[true], 0]);
  leg.received(nonsense, true);
  assert.deepEqual([house.goneTimes, guests.size, leaving.size], [1, 0, 1]);
  goOn();
  assert.equal(socket.said.length, legFaultsMax + 1);
  assert.equal(socket.said.at(-1), '4400 malformed');
  assert.deepEqual([house.goneTimes, leaving.size], [1, 0]);
});

test('a leg that cannot be told what is wrong is cut, be it the hundredth time', () => {
  enter();
  for (let i = 1; i < legFaultsMax; i++) leg.received(nonsense, false);
  socket.bufferedAmount = 256 * 1024 + 1;
  leg.received(nonsense, false);
  goOn();
  assert.deepEqual([house.goneTimes, socket.isCut, socket.said.length], [1, true, legFaultsMax - 1]);
});

test('a text of 16 KiB is read, and one more byte is 1009', () => {
  enter();
  const text = Buffer.alloc(16 * 1024 + 1, ' ');
  accept.copy(text);
  leg.received(text.subarray(0, 16 * 1024), false);
  assert.deepEqual(house.answers, [true]);
  leg.received(text, false);
  assert.equal(house.goneTimes, 1);
  goOn();
  assert.deepEqual([socket.said, house.goneTimes], [['1009 too_large'], 1]);
});
