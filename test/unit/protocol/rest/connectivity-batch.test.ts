import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectivityRecord } from '../../../../src/model/connectivity.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { encodeConnectivityBatch } from '../../../../src/protocol/rest/connectivity-batch.ts';
import { encodeConnectivityRecord } from '../../../../src/protocol/rest/device-requests.ts';
import { encodeEnvelope } from '../../../../src/protocol/rest/shared-fields.ts';

const never = { lastLoginAt: null, lastHeartbeatAt: null, lastOfflineAt: null };

function recordOf(deviceId: string, isOnline: boolean): ConnectivityRecord {
  const times = { lastLoginAt: 1_795_162_200, lastHeartbeatAt: null, lastOfflineAt: 1_795_162_250 };
  return {
    deviceId: deviceId as DeviceId,
    signal: { isOnline, ...(isOnline ? times : never) },
    sleep: times,
  };
}

const records = ['DOOR-1', '"\\\u0001', 'é', '門', '🔔'].map((id, place) => recordOf(id, place % 2 === 0));

test('the bytes of a batch are the JSON of its entries, each with the record of the single query', () => {
  const refused = { ok: false, error: { code: 40403, message: 'device does not exist' } } as const;
  const answers = [...records.map((value) => ({ ok: true, value }) as const), refused];
  const data = encodeConnectivityBatch([...records.map(({ deviceId }) => deviceId), 'NOBODY'], answers);
  const text = Buffer.from(encodeEnvelope('plain', 0, 'success', 'r', data)).toString();
  assert.deepEqual(JSON.parse(text), {
    code: 0,
    message: 'success',
    data: {
      devices: [
        ...records.map((record) => ({
          device_id: record.deviceId,
          code: 0,
          message: 'success',
          data: JSON.parse(encodeConnectivityRecord(record)) as object,
        })),
        { device_id: 'NOBODY', code: 40403, message: 'device does not exist' },
      ],
    },
  });
});

test('times of any length and the longest escaped ids are written', () => {
  const times = [0, 7, 999_999_999, 1_000_000_000, 2 ** 31 - 1, 2 ** 31, 9_999_999_999, null];
  const deviceIds = times.map((_, place) => '\u0001'.repeat(place === 0 ? 1 : 255));
  const answers = times.map((lastLoginAt, place) => {
    const seen = { lastLoginAt, lastHeartbeatAt: 1_795_162_209, lastOfflineAt: lastLoginAt };
    const value = {
      deviceId: deviceIds[place] as DeviceId,
      signal: { isOnline: true, ...seen },
      sleep: seen,
    };
    return { ok: true, value } as const;
  });
  const entries = answers.map(
    ({ value }, place) =>
      `{"device_id":${JSON.stringify(deviceIds[place])},"code":0,"message":"success","data":${encodeConnectivityRecord(value)}}`,
  );
  const text = Buffer.from(encodeConnectivityBatch(deviceIds, answers)).toString();
  assert.equal(text, `{"devices":[${entries.join(',')}]}`);
});

test('an envelope around bytes equals the one around the same text', () => {
  for (const shape of ['plain', 'with-request-id', 'msg'] as const) {
    const around = encodeEnvelope(shape, 0, 'success', 'r', Buffer.from('{"é":1}'));
    assert.equal(Buffer.from(around).toString(), encodeEnvelope(shape, 0, 'success', 'r', '{"é":1}'));
  }
});
