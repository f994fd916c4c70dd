import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpConnections } from '../../../src/lib/connections/http-connections.ts';
import type { HttpResponse, TemplatedApp } from '../../../src/lib/uws.ts';

class Scene {
  readonly connections: HttpConnections;
  max: number;
  #filter: (response: HttpResponse, change: number) => void = () => undefined;

  constructor(max: number, perAddressMax: number) {
    this.max = max;
    this.connections = new HttpConnections({ max: () => this.max, perAddressMax }, 100);
    const app = {
      filter: (filter: (response: HttpResponse, change: number) => void) => {
        this.#filter = filter;
        return app;
      },
    };
    this.connections.watch(app as unknown as TemplatedApp);
  }

  /** True: it may stay. The library tells of the end of one that is closed at once, too. */
  connect(address: string): boolean {
    let isOpen = true;
    const response = {
      getRemoteAddressAsText: () => new TextEncoder().encode(address).buffer,
      close: () => {
        isOpen = false;
        this.disconnect();
      },
    };
    this.#filter(response as unknown as HttpResponse, 1);
    return isOpen;
  }

  disconnect(): void {
    this.#filter({} as HttpResponse, -1);
  }
}

test('beyond the maximum a newcomer is closed, until another has gone', () => {
  const scene = new Scene(2, 0);
  assert.deepEqual(
    [1, 2, 3].map(() => scene.connect('192.0.2.1')),
    [true, true, false],
  );
  scene.disconnect();
  assert.equal(scene.connect('192.0.2.1'), true);
  assert.deepEqual([scene.connections.count, scene.connections.refused], [2, 1]);
});

test('addresses count once half of the places are taken', () => {
  const scene = new Scene(10, 2);
  for (let i = 0; i < 5; i++) assert.ok(scene.connect('192.0.2.1'), 'while there is room');
  assert.deepEqual(
    [1, 2, 3].map(() => scene.connect('192.0.2.1')),
    [true, true, false],
  );
  assert.equal(scene.connect('192.0.2.2'), true);
});

test('an address has a quarter of the places at most, whatever its bound', () => {
  const scene = new Scene(8, 100);
  for (let i = 0; i < 4; i++) assert.ok(scene.connect('192.0.2.1'), 'while there is room');
  assert.deepEqual(
    [1, 2, 3].map(() => scene.connect('192.0.2.1')),
    [true, true, false],
  );
});

test('who shows a credential makes room for its address', () => {
  const scene = new Scene(10, 2);
  for (let i = 0; i < 7; i++) scene.connect('192.0.2.1');
  scene.connections.proven({ remoteAddress: () => '192.0.2.1' });
  assert.deepEqual(
    [1, 2].map(() => scene.connect('192.0.2.1')),
    [true, false],
  );
});

test('after 12 s the library has cut who was silent, and it counts no more', () => {
  const scene = new Scene(10, 2);
  for (let i = 0; i < 7; i++) scene.connect('192.0.2.1');
  assert.equal(scene.connect('192.0.2.1'), false);
  for (let second = 0; second < 13; second++) scene.connections.turn();
  assert.equal(scene.connect('192.0.2.1'), true);
});

test('a maximum that falls closes newcomers, and nobody who is there', () => {
  const scene = new Scene(10, 0);
  for (let i = 0; i < 5; i++) scene.connect('192.0.2.1');
  scene.max = 3;
  assert.equal(scene.connect('192.0.2.1'), false);
  assert.equal(scene.connections.count, 5);
});
