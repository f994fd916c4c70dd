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

const media = { video: { codecs: ['H264'] } };
const login = { session, node: 'node-1', replaced: true };
const end = { session, node: 'node-1', reason: 'kicked' };
const signal = { connection: 'signal' } as const;
for (const [type, transition, data] of [
  ['device.sleep.login', opening, login],
  ['device.sleep.offline', closing, end],
  ['device.signal.online', { ...opening, ...signal }, login],
  ['device.signal.online', { ...opening, ...signal, media }, { ...login, media }],
  ['device.signal.offline', { ...closing, ...signal }, end],
] as const)
  test(`${type} has ${Object.keys(data).join(', ')}`, () => {
    assert.deepEqual(sessionEvent(testDevice, transition), { ...about, type, data });
  });
