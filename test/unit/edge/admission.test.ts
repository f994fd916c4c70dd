import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Admission, type AdmissionSettings, type Applicant } from '../../../src/edge/admission.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

class Caller implements Applicant {
  readonly address: string;
  readonly name: string;

  constructor(address: string, name: string) {
    this.address = address;
    this.name = name;
  }

  admitted(): void {
    order.push(this.name);
  }

  evict(): void {
    evicted.push(this.name);
  }
}

let clock: DrivenClock;
let order: string[];
let evicted: string[];
beforeEach(() => {
  clock = new DrivenClock();
  order = [];
  evicted = [];
});

function admission(settings: Partial<AdmissionSettings> = {}): Admission {
  return new Admission(
    {
      accepts_per_second: 20_000,
      accept_ramp_s: 0,
      handshakes_max: 20_000,
      handshakes_per_address_max: 1000,
      admission_queue_max: 1000,
      behind_balancer: false,
      proxy_protocol: false,
      ...settings,
    },
    clock,
  );
}

/** Applicants from one address that were not turned away. */
function apply(to: Admission, address: string, count: number, name = address): Caller[] {
  const callers = Array.from(
    { length: count },
    (_, i) => new Caller(address, count === 1 ? name : `${name}${i}`),
  );
  return callers.filter((caller) => to.apply(caller));
}

test('an idle server admits a connection at once', () => {
  const door = admission();
  apply(door, 'a', 1);
  assert.deepEqual(order, ['a']);
  assert.equal(door.inside, 1);
});

test('connections beyond the rate wait, and are admitted at the rate in their order', () => {
  const door = admission({ accepts_per_second: 10 });
  apply(door, 'a', 4);
  assert.deepEqual(order, ['a0']);
  clock.advance(100);
  assert.deepEqual(order, ['a0', 'a1']);
  clock.advance(200);
  assert.deepEqual(order, ['a0', 'a1', 'a2', 'a3']);
  assert.equal(door.waiting, 0);
});

test('an empty queue has no timer', () => {
  const door = admission({ accepts_per_second: 10 });
  apply(door, 'a', 3);
  clock.advance(1000);
  assert.equal(clock.pendingTimers, 0);
});

test('with handshakesMax in progress a connection waits until one ends', () => {
  const door = admission({ handshakes_max: 2 });
  const [first] = apply(door, 'a', 3);
  assert.deepEqual(order, ['a0', 'a1']);
  assert(first !== undefined);
  door.leave(first);
  assert.deepEqual(order, ['a0', 'a1', 'a2']);
  assert.equal(door.inside, 2);
});

test('an address at its limit waits while other addresses are admitted at once', () => {
  const door = admission({ handshakes_per_address_max: 2 });
  apply(door, 'hostile', 400);
  apply(door, 'b', 1);
  apply(door, 'c', 1);
  assert.deepEqual(order, ['hostile0', 'hostile1', 'b', 'c']);
});

test('an address at its limit gets one place for each handshake that ends', () => {
  const door = admission({ handshakes_per_address_max: 1 });
  const callers = apply(door, 'a', 3);
  for (const caller of callers) door.leave(caller);
  assert.deepEqual(order, ['a0', 'a1', 'a2']);
  assert.equal(door.inside, 0);
});

test('addresses take turns when the rate is exhausted', () => {
  const door = admission({ accepts_per_second: 10 });
  apply(door, 'crowd', 4);
  apply(door, 'b', 2);
  apply(door, 'c', 1);
  clock.advance(1000);
  assert.deepEqual(order, ['crowd0', 'crowd1', 'b0', 'c', 'crowd2', 'b1', 'crowd3']);
});

test('a full queue turns connections away, and a free place admits one', () => {
  const door = admission({ handshakes_max: 1, admission_queue_max: 4, handshakes_per_address_max: 0 });
  const taken = apply(door, '', 10);
  assert.equal(taken.length, 5);
  const [, second] = taken;
  assert(second !== undefined);
  door.leave(second);
  assert.equal(apply(door, '', 3).length, 1);
});

test('one address gets at most half of the queue', () => {
  const door = admission({ handshakes_max: 1, admission_queue_max: 10 });
  assert.equal(apply(door, 'hostile', 100).length, 1 + 5);
  assert.equal(apply(door, 'b', 1).length, 1);
});

test('an applicant that has withdrawn is not admitted', () => {
  const door = admission({ handshakes_max: 1 });
  const [first, second] = apply(door, 'a', 3);
  assert(first !== undefined && second !== undefined);
  door.leave(second);
  door.leave(second);
  door.leave(first);
  assert.deepEqual(order, ['a0', 'a2']);
});

test('applicants that withdraw leave nothing behind', () => {
  const door = admission({ handshakes_max: 1, admission_queue_max: 3 });
  apply(door, 'a', 1);
  for (let i = 0; i < 1000; i++) for (const caller of apply(door, `b${i}`, 1)) door.leave(caller);
  assert.equal(door.waiting, 0);
  assert.equal(apply(door, 'c', 1).length, 1);
});

test('the rate ramps up from a tenth after a start', () => {
  const door = admission({ accepts_per_second: 100, accept_ramp_s: 10, admission_queue_max: 10_000 });
  apply(door, 'a', 2000);
  clock.advance(1000);
  assert(order.length >= 10 && order.length <= 30, `${order.length} in the first second`);
  clock.advance(9000);
  const inRamp = order.length;
  clock.advance(1000);
  assert(order.length - inRamp >= 99 && order.length - inRamp <= 101);
});

test('a closed admission admits no connection', () => {
  const door = admission({ handshakes_max: 1 });
  const [first] = apply(door, 'a', 2);
  door.close();
  assert(first !== undefined);
  door.leave(first);
  clock.advance(1000);
  assert.deepEqual(order, ['a0']);
});

test('the limit per address is off behind a balancer without the PROXY protocol', () => {
  const bound = { handshakes_per_address_max: 1, behind_balancer: true };
  const behind = admission(bound);
  apply(behind, 'a', 2);
  assert.equal(behind.inside, 2);
  const told = admission({ ...bound, proxy_protocol: true });
  apply(told, 'a', 2);
  assert.equal(told.inside, 1);
});

/** Two addresses of ten silent handshakes each. */
function crowded(settings: Partial<AdmissionSettings> = {}): Admission {
  const door = admission({ handshakes_max: 20, handshakes_per_address_max: 10, ...settings });
  for (const address of ['x', 'y']) apply(door, address, 10);
  order = [];
  return door;
}

test('a new connection evicts the oldest handshake of the address with the most', () => {
  const door = crowded();
  apply(door, 'a', 1);
  apply(door, 'b', 1);
  assert.deepEqual(
    [order, evicted],
    [
      ['a', 'b'],
      ['x0', 'y0'],
    ],
  );
  assert.equal(door.inside, 20);
});

test('a crowded address evicts only its own handshakes', () => {
  const door = crowded();
  apply(door, 'a', 1);
  for (let i = 0; i < 100; i++) {
    clock.advance(100);
    for (const address of ['x', 'y']) apply(door, address, 1);
    door.turn();
  }
  assert.ok(evicted.length > 50, `${evicted.length} evicted`);
  assert.ok(!evicted.includes('a'));
});

test('a silent handshake is evicted for a new one of the same address once its grace period is over', () => {
  const door = admission({ handshakes_per_address_max: 2 });
  apply(door, 'nat', 2);
  clock.advance(1999);
  apply(door, 'nat', 1, 'honest');
  door.turn();
  assert.equal(order.includes('honest'), false);
  clock.advance(1);
  door.turn();
  assert.deepEqual([order.includes('honest'), evicted], [true, ['nat0']]);
  clock.advance(1);
  apply(door, 'nat', 1, 'next');
  assert.deepEqual(evicted, ['nat0', 'nat1']);
});

test('addresses with equal numbers of handshakes do not evict each other', () => {
  const door = admission({ handshakes_max: 3 });
  const callers = ['a', 'b', 'c', 'd', 'e'].flatMap((address) => apply(door, address, 1));
  assert.deepEqual([order, evicted, door.waiting], [['a', 'b', 'c'], [], 2]);
  for (const caller of callers.slice(0, 2)) door.leave(caller);
  assert.deepEqual([order.slice(3), evicted], [['d', 'e'], []]);
});

test('a full queue makes room for an address with fewer applicants', () => {
  const door = crowded({ admission_queue_max: 10, accepts_per_second: 20 });
  order = [];
  evicted = [];
  const waiting = door.waiting;
  assert.equal(waiting, 10);
  assert.equal(apply(door, 'a', 1).length, 1);
  assert.equal(door.waiting, 10);
  assert.equal(evicted.length, 1);
  clock.advance(1000);
  assert.ok(order.includes('a'));
});

test('a closed admission evicts no handshake', () => {
  const door = crowded();
  door.close();
  apply(door, 'a', 1);
  clock.advance(5000);
  door.turn();
  assert.deepEqual(evicted, []);
});
