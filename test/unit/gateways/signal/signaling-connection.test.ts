import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { DeadlineWheel } from '../../../../src/lib/collections/deadline-wheel.ts';
import { generateSessionId, type MessageId } from '../../../../src/model/ids.ts';
import type { SignalEndReason } from '../../../../src/model/signal.ts';
import type { FrameSocket, SocketOwner } from '../../../../src/gateways/signal/web-socket.ts';
import { encodeBye, type SignalClose } from '../../../../src/protocol/signal/server-message.ts';
import type { OpenConnection } from '../../../../src/lib/connections/device-connections.ts';
import { SignalingConnection } from '../../../../src/gateways/signal/signaling-connection.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeSignalSessions } from '../../../support/fake-device-sessions.ts';
import { FakeTelemetry, testDevice } from '../../../support/fakes.ts';

/** Like the library's socket, it must not be used after its end, and asserts that. */
class FakeFrameSocket implements FrameSocket {
  owner: SocketOwner | null = null;
  readonly address = '';
  readonly said: string[] = [];
  bufferedBytes = 0;
  takes = true;
  isClosed = false;
  onClosed = (): void => undefined;

  sendText(text: string): boolean {
    this.#touch();
    if (this.takes) this.said.push(text);
    return this.takes;
  }
  get bufferedAmount(): number {
    this.#touch();
    return this.bufferedBytes;
  }
  dismiss({ code, reason }: SignalClose): void {
    this.sendText(encodeBye(reason));
    this.said.push(`${code} ${reason}`);
    this.terminate();
  }
  terminate(): void {
    this.#touch();
    this.isClosed = true;
    this.onClosed();
  }

  #touch(): void {
    if (this.isClosed) throw new Error('a closed socket was touched');
  }
}

const ticket = { deviceId: testDevice, sessionId: generateSessionId(), epoch: 1, secretMark: 0 };
const heartbeat = Buffer.from('{"type":"heartbeat"}');
const message = { id: 'm' as MessageId, name: 'hello', payload: {} };

let clock: DrivenClock;
let socket: FakeFrameSocket;
let sessions: FakeSignalSessions;
let telemetry: FakeTelemetry;
let openConnections: DeadlineWheel<OpenConnection<SignalEndReason>>;
let failures: unknown[];
let connection: SignalingConnection;
beforeEach(() => {
  clock = new DrivenClock();
  socket = new FakeFrameSocket();
  sessions = new FakeSignalSessions();
  telemetry = new FakeTelemetry();
  failures = [];
  openConnections = new DeadlineWheel<OpenConnection<SignalEndReason>>(500, 0, (connection) =>
    connection.expire(),
  );
  clock.every(500, () => openConnections.turn(clock.monotonicMs()));
  connection = new SignalingConnection(socket, {
    clock,
    sessions,
    telemetry,
    openConnections,
    sleepServers: () => [],
    mediaUrl: () => null,
    reportFailure: (error) => failures.push(error),
  });
  // The library reports a close before the call that closes returns.
  socket.onClosed = () => connection.onClosed('reset');
});

function reasons(): string[] {
  return sessions.ends.map(({ reason }) => reason);
}

test('an end is reported and counted once, whatever follows', () => {
  connection.enter(ticket);
  connection.received(heartbeat, false);
  connection.onClosed('peer_closed');
  connection.onClosed('reset');
  connection.expire();
  connection.close('kicked');
  connection.received(heartbeat, false);
  connection.pinged();
  assert.deepEqual(sessions.ends, [
    { ticket, reason: 'peer_closed', lastHeartbeatAt: connection.lastHeartbeatAt },
  ]);
  assert.equal(telemetry.count('signal end peer_closed'), 1);
  assert.equal(telemetry.counts.size, 1);
  assert.equal(openConnections.size, 0);
});

test('an end by the server is reported once, although the socket reports it too', () => {
  connection.enter(ticket);
  connection.end('drain');
  assert.deepEqual(reasons(), ['drain']);
  assert.deepEqual(socket.said.slice(1), ['{"type":"bye","reason":"draining"}', '4503 draining']);
});

const closed: readonly (readonly [SignalEndReason, readonly string[]])[] = [
  ['replaced', ['{"type":"bye","reason":"replaced"}', '4409 replaced']],
  ['kicked', ['{"type":"bye","reason":"kicked"}', '4410 kicked']],
  ['drain', ['{"type":"bye","reason":"draining"}', '4503 draining']],
  ['heartbeat_timeout', ['{"type":"bye","reason":"heartbeat_timeout"}', '4408 heartbeat_timeout']],
  ['malformed', ['{"type":"bye","reason":"malformed"}', '4400 malformed']],
  ['bye', ['{"type":"bye","reason":"bye"}', '1000 bye']],
  ['reset', []],
  ['peer_closed', []],
  ['node_lost', []],
];
for (const [reason, words] of closed)
  test(`an end that the server ordered as ${reason} is counted, but not reported back`, () => {
    connection.enter(ticket);
    connection.close(reason);
    assert.deepEqual(reasons(), []);
    assert.equal(telemetry.count(`signal end ${reason}`), 1);
    assert.deepEqual(socket.said.slice(1), words);
    assert.equal(socket.isClosed, true);
  });

test('a drop reports nothing and counts nothing', () => {
  connection.enter(ticket);
  connection.drop();
  assert.deepEqual(reasons(), []);
  assert.equal(telemetry.counts.size, 0);
});

test('a connection closed by the server during its login gets no session', () => {
  connection.close('kicked');
  connection.enter(ticket);
  assert.deepEqual(socket.said, ['{"type":"bye","reason":"kicked"}', '4410 kicked']);
  assert.equal(openConnections.size, 0);
});

test('every heartbeat renews the deadline, and a step of the wall clock ends nothing', () => {
  connection.enter(ticket);
  for (let i = 0; i < 20; i++) {
    clock.advance(89_000);
    clock.stepWall(i % 2 === 0 ? 365 * 86_400_000 : -365 * 86_400_000);
    connection.received(heartbeat, false);
  }
  assert.deepEqual(reasons(), []);
  clock.advance(91_000);
  assert.deepEqual(reasons(), ['heartbeat_timeout']);
});

test('replaced first, timed out second: no offline event; the other way round: one', () => {
  connection.enter(ticket);
  clock.advance(89_999);
  connection.close('replaced');
  clock.advance(1001);
  assert.deepEqual(reasons(), []);
});

test('timed out first, replaced second is one end', () => {
  connection.enter(ticket);
  clock.advance(91_000);
  connection.close('replaced');
  assert.deepEqual(reasons(), ['heartbeat_timeout']);
  assert.equal(telemetry.count('signal end replaced'), 0);
});

test('a session whose login is never committed receives nothing, and times out like any other', async () => {
  sessions.commit = new Promise(() => undefined);
  connection.enter(ticket);
  const result = connection.deliver(message);
  connection.received(heartbeat, false);
  clock.advance(5000);
  assert.equal(await result, 'unknown');
  assert.deepEqual(socket.said, []);
  clock.advance(91_000);
  assert.deepEqual(reasons(), ['heartbeat_timeout']);
  assert.deepEqual(socket.said, ['{"type":"bye","reason":"heartbeat_timeout"}', '4408 heartbeat_timeout']);
});

test('a device may report and leave before its welcome', async () => {
  let commit = (): void => undefined;
  sessions.commit = new Promise((resolve) => (commit = resolve));
  connection.enter(ticket);
  connection.received(Buffer.from('{"type":"wake_report","cause":"event"}'), false);
  connection.received(Buffer.from('{"type":"bye","reason":"x"}'), false);
  commit();
  await sessions.commit;
  assert.equal(sessions.reports.length, 1);
  assert.deepEqual(reasons(), ['bye']);
  assert.deepEqual(socket.said, ['{"type":"bye","reason":"bye"}', '1000 bye']);
});

test('a failed commit is reported, unless the session has already ended', async () => {
  sessions.commit = Promise.reject(new Error('no store'));
  connection.enter(ticket);
  connection.close('kicked');
  await new Promise((turned) => setImmediate(turned));
  assert.deepEqual(failures, []);
});

test('a peer that reads nothing is reset without a close frame, and its messages are unknown', async () => {
  connection.enter(ticket);
  socket.takes = false;
  const result = connection.deliver(message);
  assert.equal(await result, 'unknown');
  assert.deepEqual(reasons(), ['reset']);
  assert.equal(await connection.deliver(message), 'unknown');
  assert.equal(socket.said.length, 1);
});

test('a peer that keeps pinging and reads nothing is reset', () => {
  connection.enter(ticket);
  socket.bufferedBytes = 256 * 1024;
  connection.pinged();
  assert.deepEqual(reasons(), []);
  socket.bufferedBytes += 1;
  connection.pinged();
  assert.deepEqual(reasons(), ['reset']);
});

test('a bye that does not fit is skipped, and the close frame is still sent', () => {
  connection.enter(ticket);
  socket.takes = false;
  connection.close('kicked');
  assert.deepEqual(socket.said.slice(1), ['4410 kicked']);
});

test('an idle connection has no timer of its own', async () => {
  connection.enter(ticket);
  const result = connection.deliver(message);
  connection.received(Buffer.from('{"type":"ack","id":"m"}'), false);
  assert.equal(await result, 'acknowledged');
  assert.equal(clock.pendingTimers, 1, 'the one of the wheel');
});
