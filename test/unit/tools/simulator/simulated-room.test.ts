import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionOf, simulatedRoom } from '../../../../src/tools/simulator/simulated-room.ts';

test('a peer id names its session', () => {
  assert.equal(sessionOf('whips://msgvoip?x_msg_room_id=r%261&x_device_id=D&x_session=s-1'), 's-1');
  assert.equal(sessionOf('whips://msgvoip?x_device_id=D'), '');
});

test('no two rooms have one id or one key', () => {
  const [one, other] = [simulatedRoom('lab', {}), simulatedRoom('lab', { no_video: true })];
  assert.match(one.msg_room_id, /^lab-room-/);
  assert.notEqual(one.msg_room_id, other.msg_room_id);
  assert.notEqual(one.msg_session_key, other.msg_session_key);
  assert.equal(other.no_video, true);
});
