import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsTable } from '../../../../src/cli/admin/calls-command.ts';
import type { WaitsFor } from '../../../../src/core/calls/offered-call.ts';
import type { CallSession } from '../../../../src/model/call.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { encodeCall, type CallLegs } from '../../../../src/gateways/admin/call-routes.ts';
import { callMedia, callRoom, callSession } from '../../../support/call-scene.ts';

const nobody: CallLegs = { device: false, bridge: false };

function tableOf(change: Partial<CallSession>, legs = nobody, waitsFor: WaitsFor | null = null): string[] {
  return callsTable([encodeCall(callSession(change), legs, waitsFor)], 1_090_000).split('\n');
}

test('a call is one line: session, device, state, age, connected legs and media', () => {
  const both = { device: true, bridge: true };
  assert.deepEqual(tableOf({ state: 'connected' }, both), [
    'SESSION    DEVICE        ROOM    STATE      ISSUED        CONNECTED       MEDIA',
    'session-1  TESTDEVICE01  room-1  connected  1 minute ago  device, bridge  h264 up, mjpeg down fit_screen 160×100, alaw',
  ]);
});

test('an absent leg is not shown, and an audio-only call has no screen', () => {
  const media = { ...callMedia, noVideo: true, screen: null };
  assert.match(String(tableOf({ media })[1]), / nobody +audio only, alaw$/);
  assert.match(String(tableOf({}, { device: false, bridge: true })[1]), / bridge +h264 up/);
});

test('a call that waits shows its reason after the connected legs', () => {
  assert.match(String(tableOf({}, nobody, 'bridge')[1]), / nobody, waits for a bridge +h264 up/);
  const device = { device: true, bridge: false };
  assert.match(String(tableOf({}, device, 'load')[1]), / device, waits for a lower load +h264 up/);
  assert.match(String(tableOf({}, nobody, 'engine')[1]), / nobody, waits for a decoder +h264 up/);
});

test('control characters in ids are escaped', () => {
  const room = { ...callRoom, roomId: 'a\u001b[2Jb' };
  const [, line] = tableOf({ deviceId: 'x\ny' as DeviceId, room });
  assert.match(String(line), /x\\u000ay +a\\u001b\[2Jb/);
});

test('an empty list says so', () => {
  assert.equal(callsTable([], 0), 'no live calls');
});
