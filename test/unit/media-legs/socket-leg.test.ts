import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { LegCloseReason, LegMessage } from '../../../src/domain/call.ts';
import { generateSessionId } from '../../../src/domain/ids.ts';
import { legFaultsMax } from '../../../src/domain/limits.ts';
import type { FrameSocket } from '../../../src/media-legs/frame-socket.ts';
import type { Guest, LegHall } from '../../../src/media-legs/leg-hall.ts';
import { bridgeSide } from '../../../src/media-legs/leg-side.ts';
import { SocketLeg } from '../../../src/media-legs/socket-leg.ts';
import { FakeOpenLeg } from '../../support/fake-call-desk.ts';

/** As the library's: it must not be touched once it is closed, and says so. */
class FakeFrameSocket implements FrameSocket {
  readonly said: string[] = [];
  bufferedBytes = 0;
  takes = true;
  isClosed = false;
  onClosed = (): void => undefined;

  send(text: string): number {
    this.#touch();
    if (!this.takes) return 2;
    this.said.push(text);
    return 1;
  }
  getBufferedAmount(): number {
    this.#touch();
    return this.bufferedBytes;
  }
  end(code: number, reason: string): void {
    this.#touch();
    this.said.push(`${code} ${reason}`);
    this.close();
  }
  close(): void {
    this.#touch();
    this.isClosed = true;
    this.onClosed();
  }

  #touch(): void {
    if (this.isClosed) throw new Error('a closed socket was touched');
  }
}

const sessionId = generateSessionId();
const assign: LegMessage = { kind: 'assign', sessionId };
const assignText = `{"type":"assign","session":"${sessionId}"}`;
const accept = Buffer.from('{"type":"accept"}');
const nonsense = Buffer.from('nonsense');
const frame = Buffer.from('01010001028001e000000000ff', 'hex');

let socket: FakeFrameSocket;
let guests: Set<Guest>;
let dismissals: number;
let leg: SocketLeg;
let house: FakeOpenLeg;
beforeEach(() => {
  socket = new FakeFrameSocket();
  guests = new Set();
  dismissals = 0;
  const hall: LegHall = { guests, dismissed: () => (dismissals += 1) };
  leg = new SocketLeg(socket, hall);
  // The library tells of every close before the call that closes returns.
  socket.onClosed = () => leg.gone();
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
    goOn();
    assert.deepEqual(socket.said, [close]);
    assert.deepEqual([house.goneTimes, house.signs, house.reports, house.answers], [0, [], [], []]);
    assert.deepEqual([guests.size, dismissals], [0, 1]);
  });

test('a leg whose peer is gone says so once, whatever comes after it', () => {
  enter();
  assert.equal(guests.size, 1);
  leg.gone();
  goOn();
  assert.deepEqual([house.goneTimes, house.signs, socket.said], [1, [], []]);
  assert.deepEqual([guests.size, dismissals], [0, 0]);
});

test('a leg that is dropped is cut, and tells nobody', () => {
  enter();
  leg.drop();
  goOn();
  assert.deepEqual([house.goneTimes, socket.said, socket.isClosed, guests.size], [0, [], true, 0]);
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

test('a leg that is lost while the house lets it in says that it is gone', () => {
  leg.enter((opening) => {
    socket.takes = false;
    opening.tell(assign);
    return bridgeSide(house);
  });
  goOn();
  assert.deepEqual([socket.said, house.goneTimes, house.signs, guests.size], [[], 1, [], 0]);
});

test('a leg that does not take what it is told is cut and gone', () => {
  enter();
  socket.takes = false;
  leg.tell(assign);
  goOn();
  assert.deepEqual([socket.isClosed, socket.said, house.goneTimes], [true, [], 1]);
});

test('a leg that pings and does not read is cut and gone', () => {
  enter();
  socket.bufferedBytes = 256 * 1024;
  leg.pinged();
  assert.deepEqual(house.signs, ['ping']);
  socket.bufferedBytes += 1;
  leg.pinged();
  goOn();
  assert.deepEqual([house.signs, house.goneTimes], [['ping'], 1]);
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
  goOn();
  assert.equal(socket.said.length, legFaultsMax + 1);
  assert.equal(socket.said.at(-1), '4400 malformed');
  assert.deepEqual([house.goneTimes, guests.size, dismissals], [1, 0, 1]);
});

test('a leg that cannot be told what is wrong is cut, be it the hundredth time', () => {
  enter();
  for (let i = 1; i < legFaultsMax; i++) leg.received(nonsense, false);
  socket.takes = false;
  leg.received(nonsense, false);
  assert.deepEqual([house.goneTimes, socket.isClosed, dismissals], [1, true, 0]);
});

const sizes: readonly (readonly [string, number, boolean])[] = [
  ['text', 16 * 1024, false],
  ['binary', 1024 * 1024, true],
];
for (const [kind, bytesMax, isBinary] of sizes)
  test(`a ${kind} message of ${bytesMax} bytes is read, and one more byte is 1009`, () => {
    enter();
    const message = Buffer.alloc(bytesMax + 1, ' ');
    (isBinary ? frame : accept).copy(message);
    leg.received(message.subarray(0, bytesMax), isBinary);
    assert.deepEqual([house.signs, house.answers], isBinary ? [['media'], []] : [[], [true]]);
    leg.received(message, isBinary);
    goOn();
    assert.deepEqual([socket.said, house.goneTimes], [['1009 too_large'], 1]);
  });
