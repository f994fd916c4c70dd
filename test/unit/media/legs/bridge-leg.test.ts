import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { LegMessage } from '../../../../src/model/call.ts';
import { generateSessionId } from '../../../../src/model/ids.ts';
import { BridgeLeg } from '../../../../src/media/legs/bridge-leg.ts';
import { bridgeSide } from '../../../../src/media/legs/leg-side.ts';
import { SocketLeg } from '../../../../src/media/legs/socket-leg.ts';
import { encodeLegMessage } from '../../../../src/protocol/media/leg-text.ts';
import { callMedia, callRoom } from '../../../support/call-scene.ts';
import { FakeOpenLeg } from '../../../support/fake-call-desk.ts';
import { FakeFrameSocket, FakeLegHall } from '../../../support/fake-leg-hall.ts';

const sessionId = generateSessionId();
const assign: LegMessage = { kind: 'assign', sessionId, media: callMedia };
const start: LegMessage = { kind: 'start', sessionId, room: callRoom, request: null, media: callMedia };
const state: LegMessage = { kind: 'state', sessionId, state: 'ringing', reason: null };

let socket: FakeFrameSocket;
let hall: FakeLegHall;
let leg: SocketLeg;
let bridge: BridgeLeg;
let house: FakeOpenLeg;
beforeEach(() => {
  socket = new FakeFrameSocket();
  hall = new FakeLegHall();
  leg = new SocketLeg(socket, hall);
  bridge = new BridgeLeg(leg, hall);
  house = new FakeOpenLeg('bridge', bridge, () => undefined);
});

function enter(telling: readonly LegMessage[] = []): unknown {
  return leg.enter(() => {
    for (const message of telling) bridge.tell(message);
    return bridgeSide(house);
  });
}

test('a call that can be carried is offered to the bridge, whose answer is its own', async () => {
  enter();
  bridge.tell(assign);
  await Promise.resolve();
  assert.deepEqual([socket.said, house.answers, hall.declined], [[encodeLegMessage(assign)], [], []]);
});

test("a call that cannot be carried is refused in the bridge's place, behind the house's question", async () => {
  enter();
  hall.relay.refusal = 'load';
  bridge.tell(assign);
  assert.deepEqual(house.answers, []);
  await Promise.resolve();
  assert.deepEqual([socket.said, house.answers, hall.declined], [[], [false], ['load']]);
});

test('a bridge that is asked while it comes in has its answer when it is in', async () => {
  hall.relay.refusal = 'engine';
  enter([assign]);
  await Promise.resolve();
  assert.deepEqual([socket.said, house.answers, hall.declined], [[], [false], ['engine']]);
});

test('for a bridge that has gone nothing is refused', async () => {
  enter();
  hall.relay.refusal = 'load';
  bridge.tell(assign);
  bridge.close('drain');
  await Promise.resolve();
  assert.deepEqual([socket.said, house.answers], [['4503 draining'], []]);
});

test('the start of a call comes before anything that the relay has for its bridge', () => {
  enter();
  hall.relay.onJoining = ({ frameOutput }) => frameOutput.askKeyFrame();
  bridge.tell(start);
  bridge.tell(state);
  assert.deepEqual(socket.said, [
    encodeLegMessage(start),
    '{"type":"key_frame_wanted"}',
    encodeLegMessage(state),
  ]);
  const [joined] = hall.relay.joined;
  assert.deepEqual([joined?.kind, joined?.sessionId, joined?.media], ['bridge', sessionId, callMedia]);
});

test('a bridge that is given its call while it comes in is carried from there', () => {
  assert.equal(enter([start]), null);
  assert.equal(hall.relay.joined.length, 1);
  leg.gone();
  assert.equal(hall.relay.joined[0]?.leftTimes, 1);
});

for (const when of ['open', 'coming in'])
  test(`a bridge that is ${when} is not told to start what cannot be carried, and is closed for it`, () => {
    hall.relay.refusal = 'load';
    if (when === 'open') {
      enter();
      bridge.tell(start);
    } else assert.equal(enter([start]), 'load');
    assert.deepEqual([socket.said.length, socket.said.at(-1), house.goneTimes], [2, '4503 media_full', 1]);
    assert.match(socket.said[0] ?? '', /^{"type":"error","message":"no worker/);
    assert.deepEqual([hall.relay.joined, hall.guests.size, hall.leaving.size], [[], 0, 1]);
  });
