import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EndedCalls, type NamedCall } from '../../../../src/core/calls/ended-calls.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { endedCallKnownMs } from '../../../../src/model/limits.ts';
import { callOrder, CallScene, orderForRoom } from '../../../support/call-scene.ts';
import { otherApp, testApp, testDevice } from '../../../support/fakes.ts';

class Scene extends CallScene {
  readonly ended: EndedCalls;

  constructor(max?: number) {
    super();
    this.ended = new EndedCalls(this.clock, max);
    this.directory.follow(this.ended);
  }

  /** Issues a call in the room and ends it. */
  end(roomId: string): SessionId {
    const sessionId = this.issue(orderForRoom(roomId));
    this.directory.end(sessionId, 'cancelled');
    return sessionId;
  }

  reasonOf(named: Partial<NamedCall> & Pick<NamedCall, 'call'>): string | null {
    return this.ended.find({ appId: testApp, deviceId: testDevice, ...named })?.reason ?? null;
  }
}

function ofRoom(roomId: string): NamedCall['call'] {
  return { kind: 'room', roomId };
}

function ofSession(sessionId: SessionId): NamedCall['call'] {
  return { kind: 'session', sessionId };
}

test('an ended call is found by its session and its room, with the time of its end', () => {
  const scene = new Scene();
  const sessionId = scene.issue();
  scene.clock.advance(1234);
  scene.directory.end(sessionId, 'rejected');
  const known = scene.ended.find({ appId: testApp, deviceId: testDevice, call: ofRoom('room-1') });
  assert.deepEqual(
    [known?.sessionId, known?.reason, known?.endedAtMs],
    [sessionId, 'rejected', scene.clock.wallMs()],
  );
  assert.equal(scene.reasonOf({ call: ofSession(sessionId) }), 'rejected');
});

test('a live call is not found, nor another room, device or application', () => {
  const scene = new Scene();
  assert.equal(scene.reasonOf({ call: ofSession(scene.issue()) }), null);
  scene.end('room-2');
  assert.equal(scene.reasonOf({ call: ofRoom('room-1') }), null);
  assert.equal(scene.reasonOf({ call: ofRoom('room-2'), appId: otherApp }), null);
  assert.equal(scene.reasonOf({ call: ofRoom('room-2'), deviceId: 'D' as DeviceId }), null);
});

test('a room returns its latest ended call', () => {
  const scene = new Scene();
  scene.end('room-1');
  const second = scene.issue(callOrder());
  scene.directory.end(second, 'busy');
  assert.equal(scene.reasonOf({ call: ofRoom('room-1') }), 'busy');
});

test('an ended call expires, and its room with it', () => {
  const scene = new Scene();
  const sessionId = scene.end('room-1');
  scene.clock.advance(endedCallKnownMs - 1);
  assert.equal(scene.reasonOf({ call: ofRoom('room-1') }), 'cancelled');
  scene.clock.advance(1);
  assert.equal(scene.reasonOf({ call: ofRoom('room-1') }), null);
  assert.equal(scene.reasonOf({ call: ofSession(sessionId) }), null);
  assert.equal(scene.ended.size, 0);
});

test('beyond the bound the earliest end is dropped', () => {
  const scene = new Scene(2);
  const sessions = ['1', '2', '3'].map((roomId) => scene.end(roomId));
  assert.deepEqual(
    sessions.map((sessionId) => scene.reasonOf({ call: ofSession(sessionId) })),
    [null, 'cancelled', 'cancelled'],
  );
  assert.equal(scene.reasonOf({ call: ofRoom('1') }), null);
});

test('a newer call of the room stays when the older one is dropped', () => {
  const scene = new Scene(2);
  scene.end('room-1');
  scene.end('room-1');
  scene.end('room-2');
  assert.equal(scene.reasonOf({ call: ofRoom('room-1') }), 'cancelled');
});
