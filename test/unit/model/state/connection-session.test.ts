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

function end(overrides: Partial<Extract<Event, { kind: 'ended' }>> = {}): Event {
  return { kind: 'ended', session, reason: 'reset', atMs: 300_000, heartbeatAt: 250, ...overrides };
}

function open(overrides: Partial<ConnectionRecord> = {}): ConnectionRecord {
  return { ...neverConnected, epoch: 1, lastLoginAt: 100, openSession: session, ...overrides };
}

function reduce(record: ConnectionRecord, event: Event): ConnectionStep<Reason> {
  return reduceConnection(record, event);
}

test('the first login opens epoch 1 and is no heartbeat', () => {
  const { record, effects } = reduce(neverConnected, login());
  assert.deepEqual(record, open());
  const change = { kind: 'opened', session, epoch: 1, atMs: 100_000, replaced: false };
  assert.deepEqual(effects, [{ kind: 'save', change }]);
});

test('a login after an end keeps the last heartbeat and the last offline, and takes the next epoch', () => {
  const before = { epoch: 7, lastLoginAt: 1, lastHeartbeatAt: 2, lastOfflineAt: 3, openSession: null };
  const { record, effects } = reduce(before, login());
  assert.deepEqual(record, {
    epoch: 8,
    lastLoginAt: 100,
    lastHeartbeatAt: 2,
    lastOfflineAt: 3,
    openSession: session,
  });
  const change = { kind: 'opened', session, epoch: 8, atMs: 100_000, replaced: false };
  assert.deepEqual(effects, [{ kind: 'save', change }]);
});

test('a login that replaces nothing hears no heartbeat, whatever comes with it', () => {
  assert.equal(reduce(neverConnected, login({ heartbeatAt: 99 })).record.lastHeartbeatAt, null);
});

test('a newer login takes over: the old connection closes as replaced once the new session is saved', () => {
  const takeover = login({ sessionId: laterSession, atMs: 200_000, heartbeatAt: 150 });
  const { record, effects } = reduce(open(), takeover);
  assert.deepEqual(record, {
    epoch: 2,
    lastLoginAt: 200,
    lastHeartbeatAt: 150,
    lastOfflineAt: null,
    openSession: laterSession,
  });
  const change = { kind: 'opened', session: laterSession, epoch: 2, atMs: 200_000, replaced: true };
  assert.deepEqual(effects, [
    { kind: 'save', change },
    { kind: 'close-previous', reason: 'replaced' },
  ]);
});

test('a takeover of a session that sent no heartbeat keeps the one known before', () => {
  const { record } = reduce(open({ lastHeartbeatAt: 90 }), login({ sessionId: laterSession }));
  assert.equal(record.lastHeartbeatAt, 90);
});

test('an end of another session than the open one changes nothing', () => {
  const current = open({ epoch: 2, openSession: laterSession });
  const { record, effects } = reduce(current, end());
  assert.equal(record, current);
  assert.deepEqual(effects, []);
});

test('an end sets the offline time, keeps the last heartbeat and is told with its reason', () => {
  const { record, effects } = reduce(open(), end());
  assert.deepEqual(record, open({ lastHeartbeatAt: 250, lastOfflineAt: 300, openSession: null }));
  const change = { kind: 'closed', session, epoch: 1, atMs: 300_000, reason: 'reset' };
  assert.deepEqual(effects, [{ kind: 'save', change }]);
});

test('an end of a session that sent no heartbeat keeps the one known before', () => {
  assert.equal(reduce(open({ lastHeartbeatAt: 90 }), end({ heartbeatAt: 0 })).record.lastHeartbeatAt, 90);
});

test('an end that is told twice is recorded once', () => {
  const first = reduce(open(), end());
  const second = reduce(first.record, end({ atMs: 400_000 }));
  assert.equal(second.record, first.record);
  assert.deepEqual(second.effects, []);
});

test('an disconnected session is told as ended and closes its connection with the reason given', () => {
  const { record, effects } = reduce(open(), {
    kind: 'disconnect',
    reason: 'kicked',
    atMs: 300_000,
    heartbeatAt: 250,
  });
  assert.deepEqual(record, open({ lastHeartbeatAt: 250, lastOfflineAt: 300, openSession: null }));
  const change = { kind: 'closed', session, epoch: 1, atMs: 300_000, reason: 'kicked' };
  assert.deepEqual(effects, [
    { kind: 'save', change },
    { kind: 'close-previous', reason: 'kicked' },
  ]);
});

const closed = open({ lastOfflineAt: 200, openSession: null });
const onClosed: readonly Event[] = [
  end(),
  end({ session: laterSession }),
  { kind: 'disconnect', reason: 'kicked', atMs: 300_000, heartbeatAt: 250 },
  { kind: 'note-heartbeat', heartbeatAt: 250 },
];
for (const event of onClosed)
  test(`a closed connection: ${JSON.stringify(event)} changes nothing`, () => {
    const { record, effects } = reduce(closed, event);
    assert.equal(record, closed);
    assert.deepEqual(effects, []);
  });

test('a heartbeat already noted, or none, is not saved again', () => {
  const noted = open({ lastHeartbeatAt: 250 });
  assert.deepEqual(reduce(noted, { kind: 'note-heartbeat', heartbeatAt: 250 }), {
    record: noted,
    effects: [],
  });
  assert.deepEqual(reduce(noted, { kind: 'note-heartbeat', heartbeatAt: 0 }), { record: noted, effects: [] });
  const newer = reduce(noted, { kind: 'note-heartbeat', heartbeatAt: 260 });
  assert.deepEqual(newer.record, open({ lastHeartbeatAt: 260 }));
  assert.deepEqual(newer.effects, [{ kind: 'save', change: null }]);
});

test('a heartbeat after the wall clock stepped back is the latest all the same', () => {
  const { record } = reduce(open({ lastHeartbeatAt: 250 }), { kind: 'note-heartbeat', heartbeatAt: 20 });
  assert.equal(record.lastHeartbeatAt, 20);
});

const wholes = [
  { atMs: 100_999, atS: 100 },
  { atMs: 101_000, atS: 101 },
];
for (const { atMs, atS } of wholes)
  test(`${atMs} ms is told as it is and kept as ${atS} s`, () => {
    const opened = reduce(neverConnected, login({ atMs }));
    assert.equal(opened.record.lastLoginAt, atS);
    const ended = reduce(opened.record, end({ atMs }));
    assert.equal(ended.record.lastOfflineAt, atS);
    const told = [opened, ended].flatMap(({ effects }) => effects);
    assert.deepEqual(
      told.map((effect) => effect.kind === 'save' && effect.change?.atMs),
      [atMs, atMs],
    );
  });

test('a superseded session closes as replaced: no change is told, nothing is stamped, its heartbeat is kept', () => {
  const { record, effects } = reduce(open(), { kind: 'superseded', session, heartbeatAt: 150 });
  assert.deepEqual(record, open({ openSession: null, lastHeartbeatAt: 150 }));
  assert.deepEqual(effects, [
    { kind: 'save', change: null },
    { kind: 'close-previous', reason: 'replaced' },
  ]);
});

test('what supersede another session, or one that is over, changes nothing', () => {
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
