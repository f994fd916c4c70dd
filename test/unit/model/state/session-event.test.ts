import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionEvent } from '../../../../src/model/state/session-event.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { testDevice } from '../../../support/fakes.ts';

const session = 'session-1' as SessionId;
const about = { deviceId: testDevice, atMs: 1_795_163_400_123, epoch: 3 };
const place = { connection: 'sleep', session, epoch: 3, atMs: about.atMs, node: 'node-1' } as const;
const opening = { ...place, kind: 'login', replaced: true, media: null } as const;
const closing = { ...place, kind: 'ended', reason: 'kicked' } as const;

test('a sleep session that opened is told as device.sleep.login, with who it took over from', () => {
  const data = { session, node: 'node-1', replaced: true };
  assert.deepEqual(sessionEvent(testDevice, opening), { ...about, type: 'device.sleep.login', data });
});

test('a sleep session that ended is told as device.sleep.offline with its reason', () => {
  const data = { session, node: 'node-1', reason: 'kicked' };
  assert.deepEqual(sessionEvent(testDevice, closing), {
    ...about,
    type: 'device.sleep.offline',
    data,
  });
});

test('a signal session that opened is told as device.signal.online; without capabilities there is no media', () => {
  const data = { session, node: 'node-1', replaced: true };
  const event = sessionEvent(testDevice, { ...opening, connection: 'signal' });
  assert.deepEqual(event, { ...about, type: 'device.signal.online', data });
  assert.equal('media' in event.data, false);
});

test('the capabilities a controller reports go into its online event as they came', () => {
  const media = { video: { codecs: ['H264'] } };
  const data = { session, node: 'node-1', replaced: true, media };
  const event = sessionEvent(testDevice, { ...opening, connection: 'signal', media });
  assert.deepEqual(event, { ...about, type: 'device.signal.online', data });
});

test('a signal session that ended is told as device.signal.offline with its reason', () => {
  const data = { session, node: 'node-1', reason: 'kicked' };
  const event = sessionEvent(testDevice, { ...closing, connection: 'signal' });
  assert.deepEqual(event, { ...about, type: 'device.signal.offline', data });
});
