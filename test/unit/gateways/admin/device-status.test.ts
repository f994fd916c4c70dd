import assert from 'node:assert/strict';
import { test } from 'node:test';
import { neverConnected, type ConnectionRecord } from '../../../../src/model/connectivity.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import {
  describeDevice,
  type DeviceStatus,
  type StatusSources,
} from '../../../../src/gateways/admin/device-status.ts';
import { DraftedEventLog, signalOffline, sleepLogin } from '../../../support/drafted-event-log.ts';
import { FakeRegistry } from '../../../support/fakes.ts';

const nowMs = 1_000_500;
const device = new FakeRegistry().addDevice({});

const openRecord: ConnectionRecord = {
  ...neverConnected,
  epoch: 4,
  lastLoginAt: 900,
  lastHeartbeatAt: 950,
  openSession: 'session-1' as SessionId,
};
const closedRecord: ConnectionRecord = { ...openRecord, openSession: null, lastOfflineAt: 990 };
const unheld = { isHeld: false, heartbeatAt: 0 };

function describe(overrides: Partial<StatusSources>): DeviceStatus {
  const nothing = { record: null, ...unheld };
  const events = new DraftedEventLog();
  return describeDevice({ device, signal: nothing, sleep: nothing, events, nowMs, ...overrides });
}

test('a device that never came is nowhere', () => {
  const { signal, sleep, transitions } = describe({});
  assert.deepEqual([signal.state, sleep.state, signal.epoch, transitions], ['never', 'never', 0, []]);
});

test('a held session is open, with the heartbeat its socket saw and the node its login told', () => {
  const events = new DraftedEventLog();
  events.append(sleepLogin({ epoch: 3 }), sleepLogin({ epoch: 4 }));
  const { sleep } = describe({ sleep: { record: openRecord, isHeld: true, heartbeatAt: 999 }, events });
  assert.deepEqual(sleep, {
    state: 'open',
    session: 'session-1',
    epoch: 4,
    node: 'node-1',
    reason: null,
    last_login_at: 900,
    last_heartbeat_at: 999,
    last_offline_at: null,
  });
});

test('an ended session tells why, if that is still known', () => {
  const events = new DraftedEventLog();
  events.append(signalOffline({ epoch: 4 }), sleepLogin({ epoch: 4 }));
  const { signal } = describe({ signal: { record: closedRecord, ...unheld }, events });
  assert.deepEqual([signal.state, signal.reason, signal.session], ['closed', 'heartbeat_timeout', null]);
  const later = describe({ signal: { record: { ...closedRecord, epoch: 5 }, ...unheld }, events });
  assert.deepEqual([later.signal.reason, later.signal.node], [null, null], 'an older epoch tells nothing');
});

test('a session that a killed server left open is not called open', () => {
  assert.equal(describe({ sleep: { record: openRecord, ...unheld } }).sleep.state, 'lost');
});

test('transitions are as backends read them, newest first, and expiry is judged at that moment', () => {
  const events = new DraftedEventLog();
  events.append(sleepLogin(), signalOffline());
  const expiring = { ...device, expiresAt: 1000 };
  const { transitions, device: told } = describe({ events, device: expiring });
  assert.deepEqual(
    transitions.map(({ type, seq }) => [type, seq]),
    [
      ['device.signal.offline', 2],
      ['device.sleep.login', 1],
    ],
  );
  assert.deepEqual([told.expired, told.expires_at], [true, 1000]);
});
