import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { ArrivalDeadlines } from '../../../src/base/arrival-deadlines.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

class FakeSocket extends EventEmitter {
  readonly remoteAddress = '192.0.2.1';
  readonly remotePort: number;
  isCut = false;

  constructor(remotePort: number) {
    super();
    this.remotePort = remotePort;
  }

  destroy(): void {
    this.isCut = true;
    this.emit('close');
  }
}

function arrive(deadlines: ArrivalDeadlines, port: number): FakeSocket {
  const socket = new FakeSocket(port);
  deadlines.begin(socket as unknown as Socket);
  return socket;
}

test('who has not shown what it has to in time is cut, and nobody else', () => {
  const clock = new DrivenClock();
  const deadlines = new ArrivalDeadlines(clock, 10_000);
  const [silent, known] = [arrive(deadlines, 1), arrive(deadlines, 2)];
  clock.advance(5000);
  const late = arrive(deadlines, 3);
  deadlines.met({ remoteAddress: '192.0.2.1', remotePort: 2 });
  clock.advance(4999);
  assert.equal(silent.isCut, false);
  clock.advance(1);
  assert.deepEqual([silent.isCut, known.isCut, late.isCut], [true, false, false]);
  clock.advance(60_000);
  assert.deepEqual([known.isCut, late.isCut], [false, true]);
});

test('who is gone is forgotten, and who comes from its place has a time of its own', () => {
  const clock = new DrivenClock();
  const deadlines = new ArrivalDeadlines(clock, 10_000);
  const first = arrive(deadlines, 1);
  clock.advance(9000);
  first.destroy();
  assert.equal(clock.pendingTimers, 0);
  const second = arrive(deadlines, 1);
  first.emit('close');
  clock.advance(9999);
  assert.equal(second.isCut, false);
  clock.advance(1);
  assert.equal(second.isCut, true);
  assert.equal(clock.pendingTimers, 0);
});
