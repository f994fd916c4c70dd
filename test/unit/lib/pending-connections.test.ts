import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { PendingConnections } from '../../../src/lib/connections/pending-connections.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort: number;
  isCut = false;

  constructor(remotePort: number, remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  destroy(): void {
    this.isCut = true;
    this.emit('close');
  }
}

function arrive(pending: PendingConnections, port: number, address = '192.0.2.1'): FakeSocket {
  const socket = new FakeSocket(port, address);
  socket.on('close', () => pending.closed(socket as unknown as Socket));
  pending.begin(socket as unknown as Socket);
  return socket;
}

test('a connection without a complete request at its deadline is destroyed, and no other', () => {
  const clock = new DrivenClock();
  const pending = new PendingConnections(clock, { waitMs: 10_000, perAddressMax: 0, max: () => 100 });
  const [silent, known] = [arrive(pending, 1), arrive(pending, 2)];
  clock.advance(5000);
  const late = arrive(pending, 3);
  pending.requested({ remoteAddress: '192.0.2.1', remotePort: 2 });
  clock.advance(4999);
  assert.equal(silent.isCut, false);
  clock.advance(1);
  assert.deepEqual([silent.isCut, known.isCut, late.isCut], [true, false, false]);
  clock.advance(60_000);
  assert.deepEqual([known.isCut, late.isCut], [false, true]);
});

test('a closed connection is forgotten, and a new one with its address and port has a deadline of its own', () => {
  const clock = new DrivenClock();
  const pending = new PendingConnections(clock, { waitMs: 10_000, perAddressMax: 0, max: () => 100 });
  const first = arrive(pending, 1);
  clock.advance(9000);
  first.destroy();
  assert.equal(clock.pendingTimers, 0);
  const second = arrive(pending, 1);
  first.emit('close');
  clock.advance(9999);
  assert.equal(second.isCut, false);
  clock.advance(1);
  assert.equal(second.isCut, true);
  assert.equal(clock.pendingTimers, 0);
});

function bounded(perAddressMax: number, max = 100, clock = new DrivenClock()): PendingConnections {
  return new PendingConnections(clock, { waitMs: 10_000, perAddressMax, max: () => max });
}

test('one address has connections up to its bound, another address has its own', () => {
  const pending = bounded(2);
  const ports = [1, 2, 3].map((port) => arrive(pending, port).isCut);
  assert.deepEqual([...ports, arrive(pending, 1, '192.0.2.2').isCut], [false, false, true, false]);
});

test('an authenticated connection makes room for its address, once', () => {
  const pending = bounded(2);
  const [first] = [arrive(pending, 1), arrive(pending, 2)];
  pending.requested({ remoteAddress: '192.0.2.1', remotePort: 1 });
  first.emit('close');
  assert.deepEqual([arrive(pending, 3).isCut, arrive(pending, 4).isCut], [false, true]);
});

test('an authenticated connection is neither counted nor evicted', () => {
  const pending = bounded(2, 2);
  const proved = [1, 2].map((port) => arrive(pending, port, '192.0.2.1'));
  for (const { remoteAddress, remotePort } of proved) pending.proved({ remoteAddress, remotePort });
  for (const port of [1, 2]) arrive(pending, port, '192.0.2.2');
  assert.equal(arrive(pending, 3, '192.0.2.3').isCut, false);
  assert.deepEqual(
    proved.map(({ isCut }) => isCut),
    [false, false],
  );
});
