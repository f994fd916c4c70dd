import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpConnections } from '../../../src/lib/connections/http-connections.ts';
import type { HttpResponse, TemplatedApp } from '../../../src/lib/uws.ts';

/** A connection as the library shows it: its object must not be used once one of its requests has reached a handler. */
class Connection {
  address: string;
  isOpen = true;
  #reached = false;
  #aborted: () => void = () => undefined;
  readonly #onEnd: () => void;

  constructor(address: string, onEnd: () => void) {
    this.address = address;
    this.#onEnd = onEnd;
  }

  get response(): HttpResponse {
    const response = {
      getRemoteAddressAsText: () => new TextEncoder().encode(this.address).buffer,
      onAborted: (aborted: () => void) => (this.#aborted = aborted),
      close: () => {
        assert.ok(this.isOpen && !this.#reached, 'a kept object is not touched after its request');
        this.end();
      },
    };
    return response as unknown as HttpResponse;
  }

  reach(connections: HttpConnections): void {
    if (!connections.reached(this.response)) return;
    this.#reached = true;
    this.#aborted = () => undefined;
  }

  end(): void {
    this.isOpen = false;
    this.#onEnd();
    this.#aborted();
  }
}

class Scene {
  readonly connections: HttpConnections;
  max: number;
  #filter: (response: HttpResponse, change: number) => void = () => undefined;

  constructor(max: number, perAddressMax: number) {
    this.max = max;
    this.connections = new HttpConnections({ max: () => this.max, perAddressMax }, 1000);
    const app = {
      filter: (filter: (response: HttpResponse, change: number) => void) => {
        this.#filter = filter;
        return app;
      },
    };
    this.connections.watch(app as unknown as TemplatedApp);
  }

  open(address: string): Connection {
    const connection = new Connection(address, () => this.#filter({} as HttpResponse, -1));
    this.#filter(connection.response, 1);
    return connection;
  }

  /** True: it may stay. */
  connect(address: string): boolean {
    return this.open(address).isOpen;
  }

  /** With a valid signature: its connection stays. */
  prove(address: string): Connection {
    const connection = this.open(address);
    if (!connection.isOpen) return connection;
    connection.reach(this.connections);
    this.connections.proven({ remoteAddress: () => address });
    return connection;
  }

  /** A connection with an unauthenticated request: from then on those of its address cannot be closed. */
  launder(address: string): void {
    const connection = this.open(address);
    if (connection.isOpen) connection.reach(this.connections);
  }

  /** Advances by the time for which the library keeps an idle connection. */
  age(): void {
    for (let second = 0; second < 13; second++) this.connections.turn();
  }
}

test('in a full listener the oldest silent connection of the largest address yields to a newcomer', () => {
  const scene = new Scene(8, 0);
  const early = ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.1'].map((address) => scene.open(address));
  const crowd = ['192.0.2.2', '192.0.2.3', '192.0.2.2', '192.0.2.2'].map((address) => scene.open(address));
  assert.ok(scene.connect('192.0.2.4'));
  assert.deepEqual(
    [...early, ...crowd].map(({ isOpen }) => isOpen),
    [true, true, true, true, false, true, true, true],
  );
  assert.deepEqual([scene.connections.count, scene.connections.evicted], [8, 1]);
});

test('a full listener without a silent connection closes newcomers until a connection ends', () => {
  const scene = new Scene(2, 0);
  const [first] = [scene.prove('192.0.2.1'), scene.prove('192.0.2.1')];
  assert.equal(scene.connect('192.0.2.1'), false);
  first.end();
  assert.equal(scene.connect('192.0.2.1'), true);
  assert.deepEqual([scene.connections.count, scene.connections.refused], [2, 1]);
});

test('connections that can be evicted in another way yield after the silent ones', () => {
  const scene = new Scene(4, 0);
  for (let i = 0; i < 3; i++) scene.prove('192.0.2.1');
  scene.connect('192.0.2.2');
  let others = 1;
  scene.connections.onFull(() => others-- > 0);
  assert.ok(scene.connect('192.0.2.3'));
  assert.equal(others, 1, 'a silent one was left');
  scene.launder('192.0.2.3');
  assert.ok(scene.connect('192.0.2.4'));
  assert.equal(others, 0);
});

test('authenticated connections survive a silent crowd of any number of addresses, and a newcomer is accepted', () => {
  const scene = new Scene(100, 1000);
  const proved = Array.from({ length: 60 }, (_, i) => scene.prove(`198.51.100.${i}`));
  for (let i = 0; i < 5000; i++) scene.connect(`10.0.${i >> 8}.${i & 255}`);
  const newcomer = scene.open('203.0.113.1');
  for (let i = 0; i < 20; i++) scene.connect(`10.1.0.${i}`);
  assert.ok(newcomer.isOpen, 'the oldest yield first');
  assert.ok(proved.every(({ isOpen }) => isOpen));
  assert.ok(scene.connections.count <= 100);
});

for (const addresses of [1, 3, 20, 50])
  test(`${addresses} addresses whose connections cannot be closed leave slots for newcomers`, () => {
    const scene = new Scene(2000, 1000);
    for (let i = 0; i < 20_000; i++) scene.launder(`10.0.0.${i % addresses}`);
    for (let i = 0; i < 10; i++) assert.ok(scene.connect(`203.0.113.${i}`), `newcomer ${i}`);
  });

for (const addresses of [3, 20, 50])
  test(`${addresses} addresses that connect one after the other leave slots for newcomers`, () => {
    const scene = new Scene(2000, 1000);
    for (let i = 0; i < 100_000; i++) scene.launder(`10.0.0.${Math.floor((i * addresses) / 100_000)}`);
    for (let i = 0; i < 10; i++) assert.ok(scene.connect(`203.0.113.${i}`), `newcomer ${i}`);
  });

test('authenticated addresses have a reserved part', () => {
  const scene = new Scene(80, 1000);
  const backend = scene.prove('203.0.113.1');
  backend.end();
  for (let i = 0; i < 500; i++) scene.launder(`10.0.${i >> 8}.${i & 255}`);
  assert.equal(scene.connect('198.51.100.1'), false, 'a stranger');
  for (let i = 0; i < 10; i++) assert.ok(scene.prove('203.0.113.1').isOpen, `connection ${i}`);
});

test('addresses are counted once half of the slots are in use', () => {
  const scene = new Scene(10, 2);
  for (let i = 0; i < 5; i++) assert.ok(scene.connect('192.0.2.1'), 'while there is room');
  for (let i = 0; i < 3; i++) scene.launder('192.0.2.1');
  assert.equal(scene.connections.count, 6);
  assert.equal(scene.connect('192.0.2.2'), true);
});

test('an address that authenticates gets its slots back', () => {
  const scene = new Scene(10, 2);
  for (let i = 0; i < 7; i++) scene.launder('192.0.2.1');
  scene.connections.proven({ remoteAddress: () => '192.0.2.1' });
  assert.deepEqual(
    [1, 2, 3].map(() => scene.connect('192.0.2.1')),
    [true, true, true],
  );
  assert.equal(scene.connections.evicted, 1, 'the third one takes the place of the first');
});

test('arrivals count until the library has closed them', () => {
  const scene = new Scene(10, 2);
  for (let i = 0; i < 7; i++) scene.launder('192.0.2.1');
  assert.equal(scene.connect('192.0.2.1'), false);
  scene.age();
  assert.equal(scene.connect('192.0.2.1'), true);
});

test('a falling maximum closes newcomers and no open connection', () => {
  const scene = new Scene(10, 0);
  for (let i = 0; i < 5; i++) scene.connect('192.0.2.1');
  scene.max = 3;
  assert.equal(scene.connect('192.0.2.1'), false);
  assert.equal(scene.connections.count, 5);
});

test("a nearly full listener bounds the answers that leave an application's connections open", () => {
  const scene = new Scene(100, 0);
  const keep = (app: string, answers: number): number =>
    Array.from({ length: answers }, () => scene.connections.mayKeepOpen(app)).filter((keeps) => keeps).length;
  for (let i = 0; i < 75; i++) scene.prove('192.0.2.1');
  assert.deepEqual([keep('busy', 500), keep('other', 20)], [500, 20], 'while there is room');
  scene.prove('192.0.2.1');
  assert.deepEqual([keep('busy', 500), keep('other', 500), keep('quiet', 10)], [0, 5, 10]);
  scene.age();
  assert.equal(keep('busy', 10), 10);
});

test('a request whose peer has reset its connection is dropped, and its kept object is closed exactly', () => {
  const scene = new Scene(4, 0);
  for (let i = 0; i < 2; i++) scene.prove('192.0.2.1');
  const [reset, other] = [scene.open('192.0.2.2'), scene.open('192.0.2.2')];
  reset.address = '';
  assert.equal(scene.connections.reached(reset.response), false);
  assert.deepEqual([reset.isOpen, other.isOpen, scene.connections.count], [false, true, 3]);
  for (let i = 3; i <= 4; i++) assert.ok(scene.connect(`192.0.2.${i}`));
  assert.equal(other.isOpen, false, 'the others of its address still yield');
});
