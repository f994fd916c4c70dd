import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  reduceConnection,
  type ConnectionEvent,
  type ConnectionStep,
} from '../../../../src/model/state/connection-session.ts';
import { neverConnected, type ConnectionRecord } from '../../../../src/model/connectivity.ts';
import type { SessionId } from '../../../../src/model/ids.ts';

type Reason = 'reset' | 'kicked' | 'heartbeat_timeout';
type Event = ConnectionEvent<Reason>;

const session = 'session-1' as SessionId;
const laterSession = 'session-2' as SessionId;

function login(overrides: Partial<Extract<Event, { kind: 'login' }>> = {}): Event {
  return { kind: 'login', sessionId: session, atMs: 100_000, heartbeatAt: 0, ...overrides };
}

function open(overrides: Partial<ConnectionRecord> = {}): ConnectionRecord {
  return { ...neverConnected, epoch: 1, lastLoginAt: 100, openSession: session, ...overrides };
}

function reduce(record: ConnectionRecord, event: Event): ConnectionStep<Reason> {
  return reduceConnection(record, event);
}

test('a heartbeat already recorded, or none, is not saved again', () => {
  const noted = open({ lastHeartbeatAt: 250 });
  assert.deepEqual(reduce(noted, { kind: 'heartbeat', heartbeatAt: 250 }), {
    record: noted,
    effects: [],
  });
  assert.deepEqual(reduce(noted, { kind: 'heartbeat', heartbeatAt: 0 }), { record: noted, effects: [] });
  const newer = reduce(noted, { kind: 'heartbeat', heartbeatAt: 260 });
  assert.deepEqual(newer.record, open({ lastHeartbeatAt: 260 }));
  assert.deepEqual(newer.effects, [{ kind: 'save', change: null }]);
});

test('a heartbeat after the wall clock stepped back is the latest all the same', () => {
  const { record } = reduce(open({ lastHeartbeatAt: 250 }), { kind: 'heartbeat', heartbeatAt: 20 });
  assert.equal(record.lastHeartbeatAt, 20);
});

test('a superseded session closes as replaced: nothing is published or stamped, its heartbeat is kept', () => {
  const { record, effects } = reduce(open(), { kind: 'superseded', session, heartbeatAt: 150 });
  assert.deepEqual(record, open({ openSession: null, lastHeartbeatAt: 150 }));
  assert.deepEqual(effects, [
    { kind: 'save', change: null },
    { kind: 'close-previous', reason: 'replaced' },
  ]);
});

test('superseding another session, or an ended one, changes nothing', () => {
  for (const before of [open(), open({ openSession: null })]) {
    const superseded = { kind: 'superseded', session: laterSession, heartbeatAt: 150 } as const;
    assert.deepEqual(reduce(before, superseded), { record: before, effects: [] });
  }
  const over = open({ openSession: null });
  assert.deepEqual(reduce(over, { kind: 'superseded', session, heartbeatAt: 9 }), {
    record: over,
    effects: [],
  });
});

test('a login after a displacement takes the next epoch and replaces nothing', () => {
  const { record } = reduce(open(), { kind: 'superseded', session, heartbeatAt: 0 });
  const { effects } = reduce(record, login({ sessionId: laterSession, atMs: 200_000 }));
  const change = { kind: 'opened', session: laterSession, epoch: 2, atMs: 200_000, replaced: false };
  assert.deepEqual(effects, [{ kind: 'save', change }]);
});
