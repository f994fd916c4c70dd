import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { decodeCallEndBody, encodeCallEnd } from '../../../../src/protocol/rest/call-end.ts';

function decode(fields: object): ReturnType<typeof decodeCallEndBody> {
  return decodeCallEndBody(Buffer.from(JSON.stringify({ device_id: 'D', ...fields })));
}

const session = { kind: 'session', sessionId: 's' };

const good: readonly (readonly [fields: object, call: object, reason: string])[] = [
  [{ session: 's' }, session, 'cancelled'],
  [{ session: 's', msg_room_id: null, reason: null }, session, 'cancelled'],
  [{ session: 's', msg_room_id: '', reason: '' }, session, 'cancelled'],
  [{ session: 's', reason: 'rejected', more: 1 }, session, 'rejected'],
  [{ session: '~'.repeat(128) }, { kind: 'session', sessionId: '~'.repeat(128) }, 'cancelled'],
  [{ msg_room_id: 'Raum ä' }, { kind: 'room', roomId: 'Raum ä' }, 'cancelled'],
  [{ msg_room_id: 'x'.repeat(127), session: '' }, { kind: 'room', roomId: 'x'.repeat(127) }, 'cancelled'],
];
for (const [fields, call, reason] of good)
  test(`the end of a call with ${JSON.stringify(fields)} is decoded`, () => {
    assert.deepEqual(decode(fields), { ok: true, value: { deviceId: 'D', call, reason } });
  });

const bad: readonly (readonly [fields: object, error: string])[] = [
  [{}, 'exactly one of session and msg_room_id must be given'],
  [{ session: '', msg_room_id: null }, 'exactly one of session and msg_room_id must be given'],
  [{ session: 's', msg_room_id: 'r' }, 'exactly one of session and msg_room_id must be given'],
  [{ session: 1 }, 'session must be a string of 1-128 visible ASCII characters'],
  [{ session: 'a b' }, 'session must be a string of 1-128 visible ASCII characters'],
  [{ session: '~'.repeat(129) }, 'session must be a string of 1-128 visible ASCII characters'],
  [{ msg_room_id: ['r'] }, 'msg_room_id must be a string of 1-127 bytes'],
  [{ msg_room_id: 'ä'.repeat(64) }, 'msg_room_id must be a string of 1-127 bytes'],
  [{ session: 's', reason: 'busy' }, 'reason must be cancelled or rejected'],
  [{ session: 's', reason: 1 }, 'reason must be cancelled or rejected'],
  [{ session: 's', device_id: '' }, 'device_id must be 1-255 bytes of valid UTF-8'],
];
for (const [fields, error] of bad)
  test(`the end of a call with ${JSON.stringify(fields)} is refused with the fault`, () => {
    assert.deepEqual(decode(fields), { ok: false, error });
  });

test('the end of a call is encoded with session, reason and time', () => {
  const end = {
    deviceId: 'D' as DeviceId,
    sessionId: 's' as SessionId,
    reason: 'lost',
    endedAtMs: 1,
  } as const;
  assert.equal(
    encodeCallEnd(end),
    '{"device_id":"D","session":"s","state":"ended","reason":"lost","ended_at":"1970-01-01T00:00:00.001+00:00"}',
  );
});
