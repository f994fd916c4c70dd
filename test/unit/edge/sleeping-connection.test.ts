import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { DeadlineWheel } from '../../../src/lib/collections/deadline-wheel.ts';
import { generateSessionId } from '../../../src/model/ids.ts';
import type { SleepEndReason } from '../../../src/model/sleep.ts';
import type { OpenConnection } from '../../../src/lib/connections/device-connections.ts';
import { sleepGatewayDefaults } from '../../support/listener-defaults.ts';
import { SleepingConnection } from '../../../src/edge/sleeping-connection.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import { FakeSleepSocket } from '../../support/fake-sleep-socket.ts';
import { FakeSleepSessions } from '../../support/fake-device-sessions.ts';
import { FakeTelemetry, testDevice } from '../../support/fakes.ts';

const ticket = { deviceId: testDevice, sessionId: generateSessionId(), epoch: 1, secretMark: 0 };
const heartbeat = Buffer.alloc(64);

let clock: DrivenClock;
let socket: FakeSleepSocket;
let sessions: FakeSleepSessions;
let telemetry: FakeTelemetry;
let openConnections: DeadlineWheel<OpenConnection<SleepEndReason>>;
let connection: SleepingConnection;
beforeEach(() => {
  clock = new DrivenClock();
  socket = new FakeSleepSocket();
  sessions = new FakeSleepSessions();
  telemetry = new FakeTelemetry();
  openConnections = new DeadlineWheel<OpenConnection<SleepEndReason>>(500, 0, (sleepingModule) =>
    sleepingModule.expire(),
  );
  clock.every(500, () => openConnections.turn(clock.monotonicMs()));
  connection = newConnection();
});

function newConnection(): SleepingConnection {
  return new SleepingConnection(
    socket,
    { clock, sessions, telemetry, openConnections, settings: sleepGatewayDefaults },
    5,
  );
}

function reasons(): string[] {
  return sessions.ends.map((end) => end.reason);
}

test('a module without reply receives nothing after its login', () => {
  connection.fallAsleep(ticket, false, 0);
  assert.deepEqual(socket.writes, []);
});

test('a login is not a heartbeat', () => {
  connection.fallAsleep(ticket, false, 0);
  assert.equal(connection.lastHeartbeatAt, 0);
});

test('bytes that arrive with the login line are a heartbeat', () => {
  connection.fallAsleep(ticket, false, 1);
  assert.equal(connection.lastHeartbeatAt, Math.floor(clock.wallMs() / 1000));
});

test('a heartbeat is recorded in whole wall seconds', () => {
  connection.fallAsleep(ticket, false, 0);
  clock.advance(1999);
  connection.received(heartbeat);
  assert.equal(connection.lastHeartbeatAt, Date.UTC(2026, 10, 20, 8, 30, 1) / 1000);
});

test('silence of three intervals ends the session, never early and at most 2 s late', () => {
  connection.fallAsleep(ticket, false, 0);
  clock.advance(14_999);
  assert.deepEqual(reasons(), []);
  clock.advance(2001);
  assert.deepEqual(reasons(), ['heartbeat_timeout']);
  assert.equal(socket.destroyed, true);
});

test('every heartbeat renews the deadline', () => {
  connection.fallAsleep(ticket, false, 0);
  for (let i = 0; i < 100; i++) {
    clock.advance(14_000);
    connection.received(heartbeat);
  }
  assert.deepEqual(reasons(), []);
  clock.advance(17_000);
  assert.deepEqual(reasons(), ['heartbeat_timeout']);
});

test('a step of the wall clock ends nothing', () => {
  connection.fallAsleep(ticket, false, 0);
  clock.stepWall(365 * 86_400_000);
  clock.advance(10_000);
  connection.received(heartbeat);
  clock.stepWall(-2 * 365 * 86_400_000);
  clock.advance(10_000);
  assert.deepEqual(reasons(), []);
});

test('4 KiB in 10 s are accepted, and one byte more is a flood', () => {
  connection.fallAsleep(ticket, false, 0);
  connection.received(Buffer.alloc(4096));
  assert.deepEqual(reasons(), []);
  connection.received(Buffer.alloc(1));
  assert.deepEqual(reasons(), ['flood']);
});

test('the flood window restarts after 10 s', () => {
  connection.fallAsleep(ticket, false, 0);
  for (let i = 0; i < 10; i++) {
    connection.received(Buffer.alloc(4096));
    clock.advance(10_000);
  }
  assert.deepEqual(reasons(), []);
});

test('an end is reported and counted once, whatever follows', () => {
  connection.fallAsleep(ticket, false, 0);
  connection.received(heartbeat);
  connection.peerEnded();
  connection.failed();
  connection.close('kicked');
  assert.deepEqual(sessions.ends, [
    { ticket, reason: 'peer_closed', lastHeartbeatAt: connection.lastHeartbeatAt },
  ]);
  assert.equal(telemetry.count('end peer_closed'), 1);
  assert.equal(telemetry.count('end reset') + telemetry.count('end kicked'), 0);
  assert.equal(openConnections.size, 0);
});

test('a failing socket is a reset', () => {
  connection.fallAsleep(ticket, false, 0);
  connection.failed();
  assert.deepEqual(reasons(), ['reset']);
});

test('a peer that hangs up before its login is answered has closed the session, also when its socket fails afterwards', () => {
  socket.readableEnded = true;
  connection.peerEnded();
  assert.equal(socket.destroyed, false);
  connection.failed();
  connection.fallAsleep(ticket, true, 0);
  assert.deepEqual(reasons(), ['peer_closed']);
});

test('a close by the server is counted, but not reported back', () => {
  connection.fallAsleep(ticket, false, 0);
  connection.close('replaced');
  connection.failed();
  assert.deepEqual(reasons(), []);
  assert.equal(telemetry.count('end replaced'), 1);
  assert.equal(socket.destroyed, true);
});

test('a connection closed by the server while it logs in does not fall asleep', () => {
  connection.close('kicked');
  connection.fallAsleep(ticket, true, 0);
  assert.deepEqual(socket.writes, []);
  assert.equal(openConnections.size, 0);
});

test('bytes after the end are not a heartbeat', () => {
  connection.fallAsleep(ticket, false, 0);
  connection.close('kicked');
  connection.received(heartbeat);
  assert.equal(connection.lastHeartbeatAt, 0);
});

test('OK is sent before any packet', async () => {
  connection.fallAsleep(ticket, true, 0);
  const result = connection.wake(null);
  assert.deepEqual(socket.writes, ['OK\n']);
  socket.land();
  assert.deepEqual(socket.writes, ['OK\n', '983b16f8f39c0000']);
  socket.land();
  assert.equal(await result, 'written');
});

test('a wakeup during the login is written after OK', () => {
  void connection.wake(Buffer.from([1, 2]));
  assert.deepEqual(socket.writes, []);
  socket.takesAtOnce = true;
  connection.fallAsleep(ticket, true, 0);
  assert.deepEqual(socket.writes, ['OK\n', '983b16f8f39c0102']);
});

test('a wakeup on a closed, a destroyed or an ended socket, or of a peer that has hung up, is refused without a write', async () => {
  connection.fallAsleep(ticket, false, 0);
  socket.writable = false;
  assert.equal(await connection.wake(null), 'refused');
  socket.writable = true;
  socket.destroyed = true;
  assert.equal(await connection.wake(null), 'refused');
  socket.destroyed = false;
  socket.readableEnded = true;
  assert.equal(await connection.wake(null), 'refused');
  socket.readableEnded = false;
  connection.close('kicked');
  assert.equal(await connection.wake(null), 'refused');
  assert.deepEqual(socket.writes, []);
});

test('a peer that accepts no packet for 10 s ends as write_stuck, and its wakeups are answered', async () => {
  connection.fallAsleep(ticket, false, 0);
  const result = connection.wake(null);
  for (let i = 0; i < 10; i++) {
    clock.advance(1000);
    if (i < 9) connection.received(heartbeat);
  }
  assert.equal(await result, 'unknown');
  assert.deepEqual(reasons(), ['write_stuck']);
});

test('an idle connection has no timer of its own', async () => {
  connection.fallAsleep(ticket, false, 0);
  const result = connection.wake(null);
  socket.land();
  await result;
  assert.equal(clock.pendingTimers, 1, 'the one of the wheel');
});
