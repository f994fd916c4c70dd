import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { Crowd } from '../../../../src/lib/connections/crowd.ts';
import type { Result } from '../../../../src/lib/result.ts';
import type { LegMessage, LegRefusal } from '../../../../src/model/call.ts';
import type { ReservationRefusal } from '../../../../src/model/media/picture.ts';
import { generateSessionId } from '../../../../src/model/ids.ts';
import { legFaultsMax, legRatesMax } from '../../../../src/model/limits.ts';
import type { LegConnection } from '../../../../src/media/legs/listener-context.ts';
import { SocketLeg } from '../../../../src/media/legs/socket-leg.ts';
import type { JoinedLeg, LegOutput } from '../../../../src/media/relay/send-queue.ts';
import { asItComes } from '../../../../src/model/media/sound.ts';
import { encodeLegMessage } from '../../../../src/protocol/media/leg-text.ts';
import { callMedia, callRoom } from '../../../support/call-scene.ts';
import { FakeOpenLeg } from '../../../support/fake-leg-service.ts';
import { FakeFrameSocket, FakeMediaListenerContext } from '../../../support/fake-media-listener-context.ts';
import type { FakeJoinedLeg } from '../../../support/fake-relay.ts';

const sessionId = generateSessionId();
const assign: LegMessage = { kind: 'assign', sessionId, media: callMedia };
const start: LegMessage = { kind: 'start', sessionId, room: callRoom, request: null, media: callMedia };
const state: LegMessage = { kind: 'state', sessionId, state: 'ringing', reason: null };
const accept = Buffer.from('{"type":"accept"}');
const nonsense = Buffer.from('nonsense');
const frame = Buffer.from('01010001028001e000000000ff', 'hex');

let socket: FakeFrameSocket;
let context: FakeMediaListenerContext;
let legs: Crowd<LegConnection>;
let leaving: Set<LegConnection>;
let leg: SocketLeg;
let opened: FakeOpenLeg;
beforeEach(() => {
  socket = new FakeFrameSocket();
  context = new FakeMediaListenerContext();
  ({ legs, leaving } = context);
  leg = new SocketLeg(socket, context, 'bridge b-1');
  opened = new FakeOpenLeg('bridge', leg, () => undefined);
});

function enter(): LegRefusal | null {
  return leg.enter(() => ({ kind: 'bridge', leg: opened }));
}

/** As above, and the leg receives `message` while it enters. */
function enterTold(message: LegMessage): LegRefusal | null {
  return leg.enter((opening) => {
    opening.notify(message);
    return { kind: 'bridge', leg: opened };
  });
}

function join(out: LegOutput): Result<JoinedLeg, ReservationRefusal> {
  return context.relay.joinBridge(sessionId, callMedia, out);
}

function carried(): FakeJoinedLeg {
  assert.equal(leg.carry(join), true);
  const joined = context.relay.joined.at(-1);
  assert(joined !== undefined);
  return joined;
}

/** Every call that a peer or the server can make, after which nothing may have changed. */
function callEverything(): void {
  leg.received(accept, false);
  leg.received(frame, true);
  leg.received(nonsense, false);
  leg.pinged();
  leg.ponged();
  leg.notify(assign);
  leg.close('drain');
  leg.failed();
  leg.closed();
  leg.drop();
}

test('a leg whose socket fails ends at once, and leaves when the socket is closed', () => {
  enter();
  leg.failed();
  assert.deepEqual([opened.goneTimes, legs.size, leaving.size], [1, 0, 1]);
  callEverything();
  assert.deepEqual([opened.goneTimes, opened.signs, socket.said, leaving.size], [1, [], [], 0]);
});

test('a leg that the server closes while it is admitted is closed, and reports nothing', () => {
  leg.enter((opening) => {
    opening.close('replaced');
    return { kind: 'bridge', leg: opened };
  });
  callEverything();
  assert.deepEqual([socket.said, opened.goneTimes, legs.size], [['4409 replaced'], 0, 0]);
});

test('the header of a frame stays valid when its payload is transferred to another thread', () => {
  enter();
  const joined = carried();
  leg.received(Buffer.from(new Uint8Array(frame).buffer), true);
  const [{ payload, headerBytes } = assert.fail('no frame')] = joined.frames;
  structuredClone(payload, { transfer: [payload.buffer] });
  assert.deepEqual([payload.length, Buffer.from(headerBytes).equals(frame.subarray(0, 12))], [0, true]);
});

test('a bridge is notified why its uplink is not made, and stays', () => {
  enter();
  const { frameOutput } = carried();
  frameOutput.mediaUnavailable?.('audio', 'load');
  frameOutput.mediaUnavailable?.('video', 'unsupported');
  const [load = '', unsupported = ''] = socket.said;
  assert.match(load, /"error".*no worker has time to convert the audio of the uplink.*retried each second"/);
  assert.match(unsupported, /"error".*the video of the uplink cannot be converted here.*or null"/);
  assert.equal(socket.isCut, false);
});

const largePayload = Buffer.alloc(1024 * 1024);

test('a frame in flight to a slow reader does not count as backlog', () => {
  enter();
  const { frameOutput } = carried();
  frameOutput.send(frame.subarray(0, 12), largePayload, () => undefined);
  socket.bufferedAmount = 12 + largePayload.length + 256 * 1024;
  leg.notify(assign);
  leg.pinged();
  frameOutput.askKeyFrame();
  assert.deepEqual([socket.isCut, socket.said.length], [false, 3]);
  socket.bufferedAmount += 1;
  leg.notify(assign);
  assert.deepEqual([socket.isCut, socket.said.length], [true, 3]);
});

test('after the frame was sent, only the texts to the leg are backlog', () => {
  enter();
  const { frameOutput } = carried();
  frameOutput.send(frame.subarray(0, 12), largePayload, () => undefined);
  socket.sending[0]?.();
  socket.bufferedAmount = 256 * 1024 + 1;
  frameOutput.askKeyFrame();
  assert.equal(socket.isCut, true);
});

const leavings: readonly (readonly [string, () => void])[] = [
  ['the server closes', () => leg.close('ended')],
  ['breaks a rule', () => leg.received(Buffer.alloc(16 * 1024 + 1, ' '), false)],
  ['fails', () => leg.failed()],
  ['goes', () => leg.closed()],
  ['is dropped', () => leg.drop()],
];
for (const [name, leave] of leavings)
  test(`a leg that ${name} leaves the relay, once`, () => {
    enter();
    const joined = carried();
    leave();
    callEverything();
    assert.deepEqual([joined.leftTimes, joined.frames], [1, []]);
    assert.equal(leg.carry(join), false);
    assert.equal(context.relay.joined.length, 1);
  });

test('a leg that is carried again has left its former place', () => {
  enter();
  const joined = carried();
  carried();
  leg.received(frame, true);
  assert.deepEqual(
    [joined, carried()].map(({ leftTimes, frames }) => [leftTimes, frames.length]),
    [
      [1, 0],
      [0, 0],
    ],
  );
});

test('a leg that cannot be carried while it opens is no login, and the server sees it end', () => {
  context.relay.joinRefusal = 'load';
  const refusal = leg.enter((opening) => {
    opening.carry(join);
    return { kind: 'bridge', leg: opened };
  });
  callEverything();
  assert.deepEqual([refusal, opened.goneTimes, legs.size, leaving.size], ['load', 1, 0, 0]);
  assert.equal(socket.said.at(-1), '4503 media_full');
});

const tooManyTexts = '{"type":"error","message":"a leg sends 5 texts a second at most, with a burst of 150"}';
test('a leg that sends too many texts is notified and closed, and none of the rest is read', () => {
  enter();
  for (let n = 0; n < 2 * legRatesMax.texts.burst; n += 1) leg.received(accept, false);
  assert.deepEqual(socket.said, [tooManyTexts, '4429 too_much, unread']);
  assert.deepEqual([opened.answers.length, opened.goneTimes], [legRatesMax.texts.burst, 1]);
  assert.deepEqual([legs.size, leaving.size, socket.isCut], [0, 1, false]);
  assert.deepEqual(context.troubles, ['flood: a leg sends 5 texts a second at most, with a burst of 150']);
  callEverything();
  assert.deepEqual([opened.goneTimes, leaving.size], [1, 0]);
});

test('a leg that sends too many bytes is notified and closed', () => {
  enter();
  for (let n = 0; n < 2; n += 1) {
    socket.bytesRead += 2 * legRatesMax.bytes.burst;
    leg.pinged();
  }
  const said = `a leg sends ${legRatesMax.bytes.perSecond} bytes a second at most, with a burst of ${legRatesMax.bytes.burst}`;
  assert.deepEqual(socket.said, [`{"type":"error","message":"${said}"}`, '4429 too_much, unread']);
});

test('empty messages count: each is malformed, and the hundredth closes', () => {
  enter();
  for (let n = 0; n < 2 * legRatesMax.messages.burst; n += 1) leg.received(Buffer.alloc(0), true);
  assert.equal(socket.said.filter((said) => said.includes('"error"')).length, legFaultsMax);
  assert.equal(socket.said[legFaultsMax], '4400 malformed');
  assert.ok(socket.isUnread, 'and who goes on is not read any more');
});

test('a leg that was closed and floods is not read any more', () => {
  enter();
  leg.close('ended');
  for (let n = 0; n < 2 * legRatesMax.messages.burst; n += 1) leg.pinged();
  assert.deepEqual(socket.said, ['1000 ended', '4429 too_much, unread']);
  assert.deepEqual([opened.goneTimes, context.troubles], [0, []]);
});

test('a call that can be carried is offered to the bridge, which answers itself', async () => {
  enter();
  leg.notify(assign);
  await Promise.resolve();
  assert.deepEqual([socket.said, opened.answers, opened.uncarried], [[encodeLegMessage(assign)], [], []]);
});

test("a call that cannot be carried is refused for the bridge, after the server's question", async () => {
  enter();
  context.relay.refusal = 'load';
  leg.notify(assign);
  assert.deepEqual(opened.uncarried, []);
  await Promise.resolve();
  assert.deepEqual([socket.said, opened.answers, opened.uncarried], [[], [], ['load']]);
});

test('a call offered to a bridge that is entering is refused after it has entered', async () => {
  context.relay.refusal = 'engine';
  enterTold(assign);
  await Promise.resolve();
  assert.deepEqual([socket.said, opened.answers, opened.uncarried], [[], [], ['engine']]);
});

test('nothing is refused for a bridge that has left', async () => {
  enter();
  context.relay.refusal = 'load';
  leg.notify(assign);
  leg.close('drain');
  await Promise.resolve();
  assert.deepEqual([socket.said, opened.answers], [['4503 draining'], []]);
});

test('the start of a call precedes everything that the relay has for its bridge', () => {
  enter();
  context.relay.onJoining = ({ frameOutput }) => frameOutput.askKeyFrame();
  leg.notify(start);
  leg.notify(state);
  assert.deepEqual(socket.said, [
    encodeLegMessage(start),
    '{"type":"key_frame_wanted"}',
    encodeLegMessage(state),
  ]);
  const [joined] = context.relay.joined;
  assert.deepEqual([joined?.kind, joined?.sessionId, joined?.media], ['bridge', sessionId, callMedia]);
});

test('a bridge that is given its call while it enters is carried from then on', () => {
  assert.equal(enterTold(start), null);
  assert.equal(context.relay.joined.length, 1);
  leg.closed();
  assert.equal(context.relay.joined[0]?.leftTimes, 1);
});

for (const when of ['open', 'coming in'])
  test(`a bridge that is ${when} does not receive the start of a call that cannot be carried, and is closed`, () => {
    context.relay.refusal = 'load';
    if (when === 'open') {
      enter();
      leg.notify(start);
    } else assert.equal(enterTold(start), 'load');
    assert.deepEqual([socket.said.length, socket.said.at(-1), opened.goneTimes], [2, '4503 media_full', 1]);
    assert.match(socket.said[0] ?? '', /^{"type":"error","message":"all transcoding workers/);
    assert.deepEqual([context.relay.joined, context.legs.size, context.leaving.size], [[], 0, 1]);
  });

test('a bridge is not charged for refusals made for it', async () => {
  enter();
  context.relay.refusal = 'load';
  for (let n = 0; n < 2 * legRatesMax.texts.burst; n += 1) leg.notify(assign);
  await Promise.resolve();
  assert.deepEqual([opened.uncarried.length, socket.said], [2 * legRatesMax.texts.burst, []]);
});

test("the relay receives a bridge's uplink wish, once the call has started", () => {
  enter();
  leg.received(Buffer.from('{"type":"uplink","video":"h264"}'), false);
  assert.deepEqual(socket.said, ['{"type":"error","message":"send uplink after the start of a call"}']);
  const joined = carried();
  leg.received(Buffer.from('{"type":"uplink","video":"h264"}'), false);
  leg.received(Buffer.from('{"type":"uplink"}'), false);
  assert.deepEqual(joined.wishes, [{ audio: null, video: 'h264' }, asItComes]);
  assert.equal(socket.said.length, 1);
});

test('a leg that needs a key frame requests it from the relay, once it has joined', () => {
  enter();
  const wanted = Buffer.from('{"type":"key_frame_wanted"}');
  leg.received(wanted, false);
  const joined = carried();
  leg.received(wanted, false);
  assert.deepEqual([joined.keyFramesWanted, socket.said], [1, []]);
});

test('an idle bridge that yields its place is closed as busy', () => {
  enter();
  leg.standIdle();
  assert.equal(context.idleBridges.size, 1);
  leg.evict();
  assert.deepEqual([socket.said.at(-1), opened.goneTimes, context.idleBridges.size], ['4503 busy', 1, 0]);
});

test('a bridge that starts a call is no longer idle', () => {
  enter();
  leg.standIdle();
  leg.notify(start);
  assert.equal(context.idleBridges.size, 0);
});
