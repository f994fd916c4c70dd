import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectionsText, statusText } from '../../../../src/cli/api/status-command.ts';
import type { RefusedLoginJson } from '../../../../src/gateways/admin/refused-route.ts';
import type { ConnectionStatus, DeviceStatus } from '../../../../src/gateways/admin/device-routes.ts';
import type { DeviceId, ProductId, SessionId } from '../../../../src/model/ids.ts';

const nowS = Date.UTC(2026, 10, 20, 8, 30, 0) / 1000;

const online: ConnectionStatus = {
  state: 'open',
  session: 'session-1' as SessionId,
  epoch: 7,
  node: 'node-1',
  reason: null,
  last_login_at: nowS - 180,
  last_heartbeat_at: nowS - 12,
  last_offline_at: nowS - 3600,
};
const never: ConnectionStatus = {
  state: 'never',
  session: null,
  epoch: 0,
  node: null,
  reason: null,
  last_login_at: null,
  last_heartbeat_at: null,
  last_offline_at: null,
};

function statusOf(overrides: Partial<DeviceStatus> = {}): DeviceStatus {
  return {
    now_ms: nowS * 1000,
    device: {
      device_id: 'DOOR-1' as DeviceId,
      product_id: 'doorbell' as ProductId,
      disabled: false,
      expires_at: null,
      expired: false,
      labels: {},
    },
    signal: online,
    sleep: never,
    refused: [],
    transitions: [],
    ...overrides,
  };
}

test('each time is shown in ISO 8601 and in words', () => {
  const text = statusText(statusOf());
  assert.match(text, /^device +DOOR-1$/m);
  assert.match(text, /^expires +never$/m);
  assert.match(text, /^signal +online since 2026-11-20T08:27:00Z {2}3 minutes ago$/m);
  assert.match(text, /^ {2}session +session-1, epoch 7 on node-1$/m);
  assert.match(text, /^ {2}last heartbeat +2026-11-20T08:29:48Z {2}12 seconds ago$/m);
  assert.match(text, /^ {2}last offline +2026-11-20T07:30:00Z {2}1 hour ago$/m);
  assert.match(text, /^sleep +never logged in$/m);
});

test('a heartbeat ahead of the clock is marked', () => {
  const signal = { ...online, last_heartbeat_at: nowS + 5 };
  assert.match(statusText(statusOf({ signal })), /last heartbeat .* in 5 s \(clock stepped\?\)$/m);
});

test('an ended session shows since when and why, one left open shows what will end it', () => {
  const closed = {
    ...online,
    state: 'closed',
    session: null,
    reason: 'bye',
    last_offline_at: nowS - 60,
  } as const;
  const text = statusText(statusOf({ signal: closed, sleep: { ...online, state: 'lost' } }));
  assert.match(text, /^signal +offline \(bye\) since 2026-11-20T08:29:00Z {2}1 minute ago$/m);
  assert.match(text, /^sleep +left open .*node_lost/m);
});

test('an expired or disabled device shows the consequences', () => {
  const device = { ...statusOf().device, disabled: true, expires_at: nowS - 86_400, expired: true };
  const text = statusText(statusOf({ device }));
  assert.match(text, /^expires +2026-11-19T08:30:00Z {2}24 hours ago: its logins are refused$/m);
  assert.match(text, /^disabled +yes/m);
  const later = { ...device, expires_at: nowS + 3 * 86_400, expired: false };
  assert.match(statusText(statusOf({ device: later })), /^expires .* in 3 days$/m);
});

test('refused logins have count, addresses and cause', () => {
  const refused: RefusedLoginJson = {
    device_id: 'DOOR-1' as DeviceId,
    app_id: null,
    connection: 'sleep',
    reason: 'wrong_mac',
    count: 12,
    first_at: '2026-11-20T08:00:00.000+00:00',
    last_at: '2026-11-20T08:29:00.500+00:00',
    addresses: ['192.0.2.1', '198.51.100.2'],
  };
  const once = { ...refused, connection: 'signal', reason: 'disabled', count: 1, addresses: [] } as const;
  const [, text] = statusText(statusOf({ refused: [refused, once] })).split('\n\n');
  assert.deepEqual(
    text?.split('\n').map((line) => line.replace(/ {2,}/g, '|')),
    [
      'refused logins, latest first',
      '|2026-11-20T08:29:00.500Z|59 seconds ago|sleep|wrong_mac|12 times from 198.51.100.2, 192.0.2.1|the secret of the device differs from the one in the registry',
      '|2026-11-20T08:29:00.500Z|59 seconds ago|signal|disabled|1 time|the device is disabled in the registry',
    ],
  );
});

test('transitions are listed newest first, each with time, age, event and reason', () => {
  const offline = {
    id: 'e',
    type: 'device.signal.offline',
    at: '2026-11-20T08:29:00.500+00:00',
    device_id: 'DOOR-1' as DeviceId,
    seq: 9,
    epoch: 6,
    data: { reason: 'heartbeat_timeout', session: 's', node: 'node-1' },
  };
  const woken = {
    ...offline,
    type: 'device.wakeup.completed',
    at: '2026-11-20T08:28:00.000+00:00',
    data: { request_id: 'r', woke_after_ms: 812 },
  };
  const lines = statusText(statusOf({ transitions: [offline, woken] })).split('\n');
  assert.deepEqual(lines.slice(-2), [
    '  2026-11-20T08:29:00.500Z  59 seconds ago  signal offline    heartbeat_timeout, epoch 6, on node-1',
    '  2026-11-20T08:28:00.000Z  2 minutes ago   wakeup completed  online after 812 ms, request r, epoch 6',
  ]);
  assert.match(statusText(statusOf()), /no transitions are recorded$/);
});

test('several devices have one line each, with errors in place of a state', () => {
  const times = { last_login_at: nowS - 180, last_heartbeat_at: nowS - 12, last_offline_at: nowS - 3600 };
  const none = { last_login_at: null, last_heartbeat_at: null, last_offline_at: null };
  const entry = (
    id: string,
    isOnline: boolean,
    signal: typeof times | typeof none,
    sleep: typeof signal,
  ) => ({
    device_id: id,
    code: 0 as const,
    message: 'success',
    data: { device_id: id, signal: { is_online: isOnline, ...signal }, sleep },
  });
  const text = connectionsText(
    [
      entry('DOOR-1', true, times, none),
      entry('DOOR-2', false, { ...times, last_offline_at: nowS }, times),
      entry('DOOR-3', false, none, none),
      { device_id: 'NOBODY', code: 40403, message: 'device does not exist' },
    ],
    nowS * 1000,
  );
  const lines = text.split('\n').map((line) => line.replace(/ {2,}/g, '|'));
  assert.deepEqual(lines, [
    'DOOR-1|online since 2026-11-20T08:27:00Z|3 minutes ago|sleep: never seen',
    'DOOR-2|offline: ended 2026-11-20T08:30:00Z|just now|sleep: last seen 2026-11-20T08:29:48Z|12 seconds ago',
    'DOOR-3|offline: never seen|sleep: never seen',
    'NOBODY|device does not exist (40403)',
  ]);
});
