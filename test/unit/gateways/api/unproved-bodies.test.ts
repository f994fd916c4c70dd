import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnprovedBodies, type UnprovedBody } from '../../../../src/gateways/api/unproved-bodies.ts';

const bytes = 10;
const turn = (): Promise<void> => new Promise((turned) => setImmediate(turned));

class Scene {
  readonly bodies: UnprovedBodies;
  readonly refused: string[] = [];
  readonly verified: string[] = [];

  constructor(bytesMax: number, verifyingBytesMax: number) {
    this.bodies = new UnprovedBodies({ bytesMax, verifyingBytesMax });
  }

  read(name: string, address: string): UnprovedBody {
    return this.bodies.enter(address, bytes, () => this.refused.push(name));
  }

  wait(name: string, address: string): UnprovedBody {
    const body = this.read(name, address);
    this.bodies.await(body, () => this.verified.push(name));
    return body;
  }
}

test('a complete body is verified at once while there is room', () => {
  const scene = new Scene(100, 20);
  scene.wait('a', '192.0.2.1');
  scene.wait('b', '192.0.2.1');
  assert.deepEqual(scene.verified, ['a', 'b']);
});

test('beyond the limit of concurrent verifications addresses take turns', async () => {
  const scene = new Scene(100, 10);
  const first = scene.wait('a1', '192.0.2.1');
  for (const name of ['a2', 'a3']) scene.wait(name, '192.0.2.1');
  const other = scene.wait('b1', '192.0.2.2');
  assert.deepEqual(scene.verified, ['a1']);
  scene.bodies.leave(first);
  await turn();
  assert.deepEqual(scene.verified, ['a1', 'a2']);
  scene.bodies.leave(other);
  await turn();
  assert.deepEqual(scene.verified, ['a1', 'a2'], 'one that has left is not verified');
});

test('each verdict starts the next verification, of another address first', async () => {
  const scene = new Scene(100, 10);
  const started: UnprovedBody[] = [scene.wait('a1', '192.0.2.1')];
  started.push(scene.wait('a2', '192.0.2.1'), scene.wait('a3', '192.0.2.1'), scene.wait('b1', '192.0.2.2'));
  const [a1, a2, , b1] = started as [UnprovedBody, UnprovedBody, UnprovedBody, UnprovedBody];
  for (const body of [a1, a2, b1]) {
    scene.bodies.leave(body);
    await turn();
  }
  assert.deepEqual(scene.verified, ['a1', 'a2', 'b1', 'a3']);
});

test('a full pool refuses the oldest body of the address with the most, whether it is being read or waiting', async () => {
  const scene = new Scene(50, 10);
  scene.wait('verified', '192.0.2.1');
  scene.wait('waits', '192.0.2.1');
  scene.read('is read', '192.0.2.1');
  scene.read('is read later', '192.0.2.1');
  scene.read('other', '192.0.2.2');
  scene.read('newcomer', '192.0.2.3');
  scene.read('next newcomer', '192.0.2.4');
  await turn();
  assert.deepEqual(scene.refused, ['waits', 'is read']);
  assert.deepEqual(scene.verified, ['verified']);
});

test('a body being verified is not evicted', () => {
  const scene = new Scene(100, 100);
  scene.wait('verified', '192.0.2.1');
  assert.equal(scene.bodies.evict(), false);
  scene.read('is read', '192.0.2.1');
  assert.equal(scene.bodies.evict(), true);
});

test('a body refused while it was read is not verified afterwards', () => {
  const scene = new Scene(100, 100);
  const body = scene.read('a', '192.0.2.1');
  scene.bodies.evict();
  scene.bodies.await(body, () => assert.fail('verified'));
  scene.bodies.leave(body);
  assert.equal(scene.bodies.evict(), false);
});
