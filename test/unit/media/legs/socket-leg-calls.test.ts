import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { LegMessage } from '../../../../src/model/call.ts';
import { generateSessionId } from '../../../../src/model/ids.ts';
import { legTextsBurstMax } from '../../../../src/model/limits.ts';
import { SocketLeg } from '../../../../src/media/legs/socket-leg.ts';
import { encodeLegMessage } from '../../../../src/protocol/media/leg-text.ts';
import { callMedia, callRoom } from '../../../support/call-scene.ts';
import { FakeOpenLeg } from '../../../support/fake-leg-service.ts';
import { FakeFrameSocket, FakeMediaListenerContext } from '../../../support/fake-media-listener-context.ts';

const sessionId = generateSessionId();
const assign: LegMessage = { kind: 'assign', sessionId, media: callMedia };
const start: LegMessage = { kind: 'start', sessionId, room: callRoom, request: null, media: callMedia };
const state: LegMessage = { kind: 'state', sessionId, state: 'ringing', reason: null };

let socket: FakeFrameSocket;
let context: FakeMediaListenerContext;
let leg: SocketLeg;
let opened: FakeOpenLeg;
beforeEach(() => {
  socket = new FakeFrameSocket();
  context = new FakeMediaListenerContext();
  leg = new SocketLeg(socket, context);
  opened = new FakeOpenLeg('bridge', leg, () => undefined);
});

function enter(telling: readonly LegMessage[] = []): unknown {
  return leg.enter(() => {
    for (const message of telling) leg.notify(message);
    return { kind: 'bridge', leg: opened };
  });
}

test('a call that can be carried is offered to the bridge, whose answer is its own', async () => {
  enter();
  leg.notify(assign);
  await Promise.resolve();
  assert.deepEqual([socket.said, opened.answers, context.declined], [[encodeLegMessage(assign)], [], []]);
});

test("a call that cannot be carried is refused in the bridge's place, behind the server's question", async () => {
  enter();
  context.relay.refusal = 'load';
  leg.notify(assign);
  assert.deepEqual(opened.answers, []);
  await Promise.resolve();
  assert.deepEqual([socket.said, opened.answers, context.declined], [[], [false], ['load']]);
});

test('a bridge that is asked while it comes in has its answer when it is in', async () => {
  context.relay.refusal = 'engine';
  enter([assign]);
  await Promise.resolve();
  assert.deepEqual([socket.said, opened.answers, context.declined], [[], [false], ['engine']]);
});

test('for a bridge that has gone nothing is refused', async () => {
  enter();
  context.relay.refusal = 'load';
  leg.notify(assign);
  leg.close('drain');
  await Promise.resolve();
  assert.deepEqual([socket.said, opened.answers], [['4503 draining'], []]);
});

test('the start of a call comes before anything that the relay has for its bridge', () => {
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

test('a bridge that is given its call while it comes in is carried from there', () => {
  assert.equal(enter([start]), null);
  assert.equal(context.relay.joined.length, 1);
  leg.gone();
  assert.equal(context.relay.joined[0]?.leftTimes, 1);
});

for (const when of ['open', 'coming in'])
  test(`a bridge that is ${when} is not told to start what cannot be carried, and is closed for it`, () => {
    context.relay.refusal = 'load';
    if (when === 'open') {
      enter();
      leg.notify(start);
    } else assert.equal(enter([start]), 'load');
    assert.deepEqual([socket.said.length, socket.said.at(-1), opened.goneTimes], [2, '4503 media_full', 1]);
    assert.match(socket.said[0] ?? '', /^{"type":"error","message":"no worker/);
    assert.deepEqual([context.relay.joined, context.legs.size, context.leaving.size], [[], 0, 1]);
  });

test('a bridge is not charged for what is refused in its place', async () => {
  enter();
  context.relay.refusal = 'load';
  for (let n = 0; n < 2 * legTextsBurstMax; n += 1) leg.notify(assign);
  await Promise.resolve();
  assert.deepEqual([opened.answers.length, socket.said], [2 * legTextsBurstMax, []]);
});
