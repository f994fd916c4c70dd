import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DeviceConnections,
  deviceTickMs,
  type OpenConnection,
} from '../../../src/lib/connections/device-connections.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import { FakeLog } from '../../support/fakes.ts';

const silenceMsMax = 15_000;

class Session implements OpenConnection<string> {
  deadlineMs = silenceMsMax;
  wheelNext = null;
  wheelPrevious = null;
  isExpired = false;
  expire(): void {
    this.isExpired = true;
  }
  end(): void {}
  drop(): void {}
}

function scene(): { clock: DrivenClock; session: Session } {
  const clock = new DrivenClock();
  const connections = new DeviceConnections<string>(clock, new FakeLog(), 'logins cannot be verified');
  const session = new Session();
  connections.openConnections.add(session);
  clock.every(deviceTickMs, () => connections.turn());
  return { clock, session };
}

test('a session survives when its heartbeats waited for a busy event loop', () => {
  const { clock, session } = scene();
  clock.stall(2 * silenceMsMax);
  session.deadlineMs = clock.monotonicMs() + silenceMsMax;
  clock.advance(silenceMsMax - 1);
  assert.equal(session.isExpired, false);
});

test('a silent session expires, even if every turn of the event loop is long', () => {
  const { clock, session } = scene();
  clock.stall(2 * silenceMsMax);
  assert.equal(session.isExpired, false);
  clock.stall(2000);
  assert.equal(session.isExpired, true);
});
