/**
 * Property: several nodes change a registry, share their changes in one order and mirror them, in any interleaving, and
 * superseded changes may never be seen. A node's change is visible there until it is shared; when everything is shared and
 * mirrored, all nodes have the last shared value.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { ApplicationId } from '../../src/model/ids.ts';
import type { RegistryChange, SharedPlace, SharedRegistryChange } from '../../src/core/ports/mirrored.ts';
import { unpackPlain } from '../../src/lib/plain-msgpack.ts';
import { decodeRow } from '../../src/storage/registry/registry-kinds.ts';
import { MirroredRegistryStore } from '../../src/storage/registry/mirrored-registry.ts';
import { RegistryStore } from '../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../src/storage/registry/registry-write.ts';
import { FakeLog } from '../support/fakes.ts';
import { temporaryStore } from '../support/temporary-store.ts';

const nodes = 3;
const step = fc.record({
  kind: fc.constantFrom('change', 'change', 'publish', 'acknowledge', 'mirror'),
  node: fc.nat(nodes - 1),
  entry: fc.nat(2),
  /** Few values, so that earlier ones recur. */
  value: fc.nat(2),
  count: fc.integer({ min: 1, max: 3 }),
});
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

/** The shared registry by position, from 1; readers are only sure to see the last change of an entry. */
class SharedOrder {
  readonly changes: RegistryChange[] = [];

  behind(position: number, count: number): { changes: SharedRegistryChange[]; position: number } {
    const until = Math.min(position + count, this.changes.length);
    const last = new Map(this.changes.map(({ id }, at) => [id, at]));
    const isSeen = ({ id }: RegistryChange, at: number): boolean =>
      at % 2 === 0 || last.get(id) === position + at;
    const placed = this.changes.map((change, at) => ({ ...change, position: at + 1 }));
    return { changes: placed.slice(position, until).filter(isSeen), position: until };
  }

  /** Names of the entry at later positions. */
  namesBehind(id: string, position: number): string[] {
    return this.changes.slice(position).flatMap((change) => (change.id === id ? nameIn(change) : []));
  }
}

function nameIn({ kind, id, row }: RegistryChange): string {
  assert.ok(kind === 'application' && row !== null);
  return decodeRow('application', id, unpackPlain(row) as never).name;
}

class Node {
  readonly registry: RegistryStore;
  readonly mirror: MirroredRegistryStore;
  readonly #writer: RegistryWriter;
  readonly #order: SharedOrder;
  readonly #changedHere = new Map<string, string>();
  /** Position in the shared registry of the newest local change; null: not shared yet. */
  readonly #standsAt = new Map<string, number | null>();
  readonly #published = new Map<number, SharedPlace>();

  constructor(t: TestContext, order: SharedOrder) {
    const { registry: tables } = temporaryStore(t);
    this.registry = new RegistryStore(tables);
    this.mirror = new MirroredRegistryStore({ tables, log: new FakeLog(), applied: () => undefined });
    this.#writer = new RegistryWriter(tables, this.registry);
    this.#order = order;
  }

  async runStep({
    kind,
    entry,
    value,
    count,
  }: Pick<Step, 'kind' | 'entry' | 'value' | 'count'>): Promise<void> {
    if (kind === 'change') await this.#change(`app-${entry}`, `name ${value}`);
    else if (kind === 'publish') this.#publish(count);
    else if (kind === 'acknowledge') await this.#acknowledge();
    else await this.#mirror(count);
    this.registry.purge();
    for (const { change } of this.mirror.unshared(100))
      assert.equal(
        this.nameOf(change.id),
        this.#changedHere.get(change.id),
        'an unshared change is overwritten',
      );
    for (const [id, name] of this.#changedHere) {
      const later = this.#order.namesBehind(id, this.#standsAt.get(id) ?? Infinity);
      assert.ok(
        [name, ...later].includes(this.nameOf(id) ?? ''),
        'a change gives way to what stands before it',
      );
    }
  }

  async finish(): Promise<void> {
    while (this.mirror.unshared(1).length > 0) {
      await this.runStep({ kind: 'publish', entry: 0, value: 0, count: 100 });
      await this.runStep({ kind: 'acknowledge', entry: 0, value: 0, count: 0 });
    }
  }

  nameOf(id: string): string | undefined {
    return this.registry.find('application', id)?.name;
  }

  async #change(id: string, name: string): Promise<void> {
    if (this.nameOf(id) === name) return;
    this.#changedHere.set(id, name);
    this.#standsAt.set(id, null);
    await this.#writer.put('application', { appId: id as ApplicationId, name });
  }

  /** A node may republish a change whose acknowledgement was lost. */
  #publish(count: number): void {
    for (const { place, change } of this.mirror.unshared(count)) {
      this.#order.changes.push(change);
      const position = this.#order.changes.length;
      this.#published.set(place, { place, position });
      this.#standsAt.set(change.id, position);
    }
  }

  async #acknowledge(): Promise<void> {
    const places = Array.from(this.#published.values());
    this.#published.clear();
    await this.mirror.shared(places);
  }

  async #mirror(count: number): Promise<void> {
    const { changes, position } = this.#order.behind(this.mirror.position, count);
    await this.mirror.apply(changes, position);
  }
}

async function walk(t: TestContext, steps: readonly Step[]): Promise<number> {
  const order = new SharedOrder();
  const deps = Array.from({ length: nodes }, () => new Node(t, order));
  for (const node of deps) await node.mirror.adopt();
  for (const step of steps) await deps[step.node]?.runStep(step);
  for (const node of deps) await node.finish();
  for (const node of deps) await node.runStep({ kind: 'mirror', entry: 0, value: 0, count: 1000 });
  const last = new Map(order.changes.map((change) => [change.id, change]));
  for (const [id] of last) {
    const names = deps.map((node) => node.nameOf(id));
    assert.equal(new Set(names).size, 1, `${id} is ${names.join(', ')}`);
  }
  return last.size;
}

test('nodes converge after arbitrary changes, and none loses its own change before it is shared', async (t) => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
      compared += await walk(t, steps);
    }),
    { numRuns: 15 },
  );
  assert.ok(compared > 10, `${compared} entries compared`);
});
