import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { wakeupsWaitingMax } from '../../../src/model/limits.ts';
import { WakeWriter } from '../../../src/edge/wake-writer.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import { FakeSleepSocket } from '../../support/fake-sleep-socket.ts';
import { FakeTelemetry } from '../../support/fakes.ts';

const first = Buffer.from('983b16f8f39c0000', 'hex');
const second = Buffer.from('983b16f8f39c0001', 'hex');

let clock: DrivenClock;
let socket: FakeSleepSocket;
let telemetry: FakeTelemetry;
let ends: string[];
let writer: WakeWriter;
beforeEach(() => {
  clock = new DrivenClock();
  socket = new FakeSleepSocket();
  telemetry = new FakeTelemetry();
  ends = [];
  const settings = { write_deadline_ms: 1000, write_stuck_ms: 10_000 };
  writer = new WakeWriter(socket, { clock, telemetry, settings }, { end: (reason) => ends.push(reason) });
});

test('a packet is one write of 8 bytes, and written once its callback is called', async () => {
  const result = writer.write(first, true);
  assert.deepEqual(socket.writes, ['983b16f8f39c0000']);
  socket.land();
  assert.equal(await result, 'written');
  assert.equal(telemetry.count('wakeup write'), 1);
  assert.equal(clock.pendingTimers, 0);
});

test('a packet that the kernel accepts at once needs no timer', async () => {
  socket.takesAtOnce = true;
  const result = writer.write(first, true);
  assert.equal(clock.pendingTimers, 0);
  socket.land();
  assert.equal(await result, 'written');
});

test('a write that fails is refused', async () => {
  const result = writer.write(first, true);
  socket.land(new Error('EPIPE'));
  assert.equal(await result, 'refused');
  assert.equal(telemetry.count('wakeup write'), 0);
});

test('a write without an answer for 1 s is unknown', async () => {
  const result = writer.write(first, true);
  clock.advance(1000);
  assert.equal(await result, 'unknown');
});

test('a packet unsent for 10 s ends the session as stuck', () => {
  void writer.write(first, true);
  clock.advance(9999);
  assert.deepEqual(ends, []);
  clock.advance(1);
  assert.deepEqual(ends, ['write_stuck']);
});

test('a packet that is sent late ends nothing and changes no result', async () => {
  const result = writer.write(first, true);
  clock.advance(5000);
  socket.land();
  clock.advance(60_000);
  assert.equal(await result, 'unknown');
  assert.deepEqual(ends, []);
  assert.equal(telemetry.count('wakeup write'), 0);
});

test('a second packet is written after the first was sent', async () => {
  const results = [writer.write(first, true), writer.write(second, true)];
  assert.deepEqual(socket.writes, ['983b16f8f39c0000']);
  socket.land();
  assert.deepEqual(socket.writes, ['983b16f8f39c0000', '983b16f8f39c0001']);
  socket.land();
  assert.deepEqual(await Promise.all(results), ['written', 'written']);
  assert.equal(clock.pendingTimers, 0);
});

test('a packet waits for other unsent bytes', async () => {
  socket.writableLength = 3;
  const result = writer.write(first, true);
  assert.deepEqual(socket.writes, []);
  socket.writableLength = 0;
  writer.pump();
  assert.deepEqual(socket.writes, ['983b16f8f39c0000']);
  socket.land();
  assert.equal(await result, 'written');
});

test('a packet for a connection that is not open yet waits for it', () => {
  void writer.write(first, false);
  assert.deepEqual(socket.writes, []);
  writer.pump();
  assert.deepEqual(socket.writes, ['983b16f8f39c0000']);
});

test('a packet that waited 1 s is refused and never written after', async () => {
  void writer.write(first, true);
  clock.advance(300);
  const result = writer.write(second, true);
  clock.advance(1000);
  assert.equal(await result, 'refused');
  socket.land();
  assert.deepEqual(socket.writes, ['983b16f8f39c0000']);
});

test('a packet that waited before its write is unknown 1 s after the request', async () => {
  void writer.write(first, true);
  const result = writer.write(second, true);
  clock.advance(600);
  socket.land();
  clock.advance(400);
  assert.equal(await result, 'unknown');
  clock.advance(9599);
  assert.deepEqual(ends, []);
  clock.advance(1);
  assert.deepEqual(ends, ['write_stuck']);
});

test('a connection with too many waiting packets is busy', async () => {
  void writer.write(first, true);
  for (let i = 0; i < wakeupsWaitingMax; i++) void writer.write(second, true);
  assert.equal(await writer.write(second, true), 'busy');
});

test('unsent packets are refused when the connection closes, although the callback reports no error', async () => {
  const results = [writer.write(first, true), writer.write(second, true)];
  writer.abandon();
  socket.land();
  assert.deepEqual(await Promise.all(results), ['refused', 'refused']);
  assert.deepEqual(socket.writes, ['983b16f8f39c0000']);
  assert.equal(telemetry.count('wakeup write'), 0);
  assert.equal(clock.pendingTimers, 0);
});

test('a packet in the kernel is written even if the connection closes', async () => {
  socket.takesAtOnce = true;
  const result = writer.write(first, true);
  writer.abandon();
  socket.land();
  assert.equal(await result, 'written');
});

test('a stuck packet of a closed connection is dropped', () => {
  void writer.write(first, true);
  clock.advance(2000);
  writer.abandon();
  assert.equal(clock.pendingTimers, 0);
});
