/**
 * Random walks of two nodes that share devices over NATS: logins, ends, takeovers, partitions, lost answers, failovers of live
 * nodes, and crashes. A failure prints its seed and path: pass both to `fc.assert` to repeat it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import { OwnershipScene, type OwningNode } from '../support/ownership-scene.ts';

const devices = ['D1', 'D2'] as DeviceId[];
const kinds = ['sleep', 'signal'] as const;
const names = ['A', 'B'] as const;

const node = fc.constantFrom(...names);
const device = fc.constantFrom(...devices);
const kind = fc.constantFrom(...kinds);
const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ what: fc.constant('login' as const), node, device, kind }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constant('end' as const), node, device, kind }) },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constantFrom(
        'cut' as const,
        'mend' as const,
        'mend' as const,
        'fail-over' as const,
        'crash' as const,
      ),
      node,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constantFrom('lose-row' as const, 'lose-event' as const), node }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('cut-after' as const), node, requests: fc.nat({ max: 6 }) }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('at-once' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const leaseMs = 10_000;
/** Longer than the time in which a login is published. */
const stepMs = 700;

interface Login {
  readonly name: string;
  readonly session: SessionId;
  readonly atMs: number;
}

class Walk {
  readonly scene = new OwnershipScene();
  readonly nodes = new Map<string, OwningNode>();
  /** Latest logins of each slot, until the peer or the node ends one. */
  readonly latest = new Map<string, readonly Login[]>();
  #sessions = 0;
  #isAtOnce = false;

  constructor(overwrites: boolean) {
    for (const name of names) this.nodes.set(name, this.scene.start(name));
    for (const one of this.nodes.values()) this.scene.way(one).rows.overwrites = overwrites;
  }

  get(name: string): OwningNode {
    const found = this.nodes.get(name);
    assert.ok(found);
    return found;
  }

  async runStep(taken: Step): Promise<void> {
    const { scene } = this;
    switch (taken.what) {
      case 'login':
        this.#login(taken);
        break;
      case 'end':
        this.#end(taken);
        break;
      case 'cut':
        scene.cut(this.get(taken.node));
        break;
      case 'mend':
        scene.mend(this.get(taken.node));
        break;
      case 'cut-after':
        scene.way(this.get(taken.node)).rows.requestsLeft = taken.requests;
        break;
      case 'lose-row':
        scene.way(this.get(taken.node)).rows.lostAnswers += 1;
        break;
      case 'lose-event':
        scene.way(this.get(taken.node)).lostEvents += 1;
        break;
      case 'fail-over':
        await this.#failOver(this.get(taken.node));
        break;
      case 'crash':
        await this.#crash(this.get(taken.node));
        break;
      case 'at-once':
        this.#isAtOnce = true;
        return;
    }
    if (this.#isAtOnce) this.scene.clock.advance(1);
    else await this.pass();
    this.#isAtOnce = false;
  }

  async pass(): Promise<void> {
    await this.scene.pass(stepMs);
    // A node that used up its requests learns that it is cut off.
    for (const one of this.nodes.values()) if (this.scene.way(one).rows.isUnavailable) this.scene.cut(one);
  }

  async heal(): Promise<void> {
    for (const one of this.nodes.values()) this.scene.mend(one);
    for (let round = 0; round < 12; round++) await this.scene.pass(1000);
  }

  #login({ node: name, device: deviceId, kind: connection }: Extract<Step, { what: 'login' }>): void {
    this.#sessions += 1;
    const session = this.get(name).login(deviceId, connection, `s${this.#sessions}`);
    const slot = this.#slot(name, deviceId, connection);
    const atMs = this.scene.clock.wallMs();
    // When two logins are published at once, either may win the slot: a pending row can delay one of them.
    const rivals = (this.latest.get(slot) ?? []).filter(
      (other) => other.name !== name && atMs - other.atMs < stepMs,
    );
    this.latest.set(slot, [...rivals, { name, session, atMs }]);
  }

  #end({ node: name, device: deviceId, kind: connection }: Extract<Step, { what: 'end' }>): void {
    const ended = this.get(name).find(deviceId, connection)?.session;
    const slot = this.#slot(name, deviceId, connection);
    if (this.latest.get(slot)?.some(({ session }) => session === ended)) this.latest.delete(slot);
    this.get(name).end(deviceId, connection);
  }

  /** Fails over a node by the other one. The node may still live: it was only declared lost. */
  async #failOver(lost: OwningNode): Promise<void> {
    const undertaker = this.get(lost.name === 'A' ? 'B' : 'A');
    if (this.scene.way(undertaker).rows.isUnavailable) return;
    await this.scene.pass(leaseMs);
    await this.#finishFailover(undertaker, undertaker.ownership.failOver(lost.member));
    void lost.ownership.reregister();
  }

  async #crash(crashed: OwningNode): Promise<void> {
    const ended = crashed.sessions();
    for (const [slot, logins] of this.latest)
      if (logins.some(({ session }) => ended.includes(session))) this.latest.delete(slot);
    const next = this.scene.restart(crashed);
    this.nodes.set(crashed.name, next);
    await this.pass();
    const undertaker = this.get(crashed.name === 'A' ? 'B' : 'A');
    this.scene.mend(undertaker);
    await this.scene.pass(leaseMs);
    await this.#finishFailover(undertaker, undertaker.ownership.failOver(crashed.member));
  }

  /** The surviving node may be cut off during the failover; it continues when it is reconnected. */
  async #finishFailover(undertaker: OwningNode, failover: Promise<void>): Promise<void> {
    const settled: string[] = [];
    const settle = (): void => void settled.push('failed over');
    failover.then(settle, settle);
    for (let round = 0; round < 12 && settled.length === 0; round++) {
      await this.pass();
      this.scene.mend(undertaker);
    }
    assert.equal(settled.length, 1);
  }

  #slot(name: string, deviceId: DeviceId, connection: string): string {
    return connection === 'signal' ? `signal ${deviceId}` : `sleep ${deviceId} ${name}`;
  }
}

function check(walk: Walk): void {
  const { scene } = walk;
  for (const deviceId of devices)
    for (const connection of kinds) {
      const live = Array.from(walk.nodes.values(), (one) => one.find(deviceId, connection)?.session);
      const open = live.filter((session) => session !== undefined);
      const slots = scene.row(deviceId)[connection].slots;
      assert.deepEqual(
        slots.map(({ session }) => session).toSorted(),
        open.toSorted(),
        'who is here has a slot',
      );
      assert.ok(slots.length <= (connection === 'signal' ? 1 : names.length));
      for (const { member } of slots)
        assert.ok(Array.from(walk.nodes.values()).some((one) => one.member === member));
    }
  const holders = new Set(devices.flatMap((deviceId) => kinds.flatMap((one) => scene.slots(deviceId, one))));
  for (const logins of walk.latest.values()) {
    const sessions = logins.map(({ session }) => session);
    assert.ok(
      sessions.some((session) => holders.has(session)),
      `${sessions.join(' or ')} logged in last`,
    );
  }
  checkEvents(walk);
}

/**
 * L: a login, R: a recovered login, E: an end, N: an end as lost. A session that was replaced while its node was cut off is
 * recovered when the replacement has ended.
 */
function checkEvents({ scene }: Walk): void {
  const histories = new Map<string, string>();
  const epochs = new Set<string>();
  for (const event of scene.log.events) {
    if (!('session' in event.data)) continue;
    const isLogin = 'replaced' in event.data;
    const recovered = 'recovered' in event.data;
    const lost = 'reason' in event.data && event.data.reason === 'node_lost';
    const word = isLogin ? (recovered ? 'R' : 'L') : lost ? 'N' : 'E';
    const { session } = event.data;
    histories.set(session, (histories.get(session) ?? '') + word);
    if (!isLogin) continue;
    const epoch = `${event.type} ${event.deviceId} ${event.epoch}`;
    assert.ok(!epochs.has(epoch), `${epoch} was given twice`);
    epochs.add(epoch);
  }
  for (const [session, words] of histories) assert.match(words, /^L?(?:N?R)*[NE]?$/, `${session}: ${words}`);
}

async function walk(steps: readonly Step[], overwrites: boolean): Promise<void> {
  const taken = new Walk(overwrites);
  await taken.scene.untilIdle();
  for (const one of steps) await taken.runStep(one);
  await taken.heal();
  check(taken);
}

const walks = fc.array(step, { maxLength: 30 });

test('two nodes agree on the location of every device, whatever fails between them', async () => {
  const property = fc.asyncProperty(walks, (steps) => walk(steps, false));
  await fc.assert(property, { numRuns: 300, includeErrorInReport: true });
});

test('two simultaneous logins that race with a pending row leave one owner of the slot', async () => {
  const soon = { what: 'at-once' } as const;
  const login = { what: 'login', device: devices[0] ?? assert.fail() } as const;
  await walk(
    [
      soon,
      { ...login, node: 'A', kind: 'sleep' },
      soon,
      { ...login, node: 'A', kind: 'signal' },
      { ...login, node: 'B', kind: 'signal' },
    ],
    false,
  );
});

test('canary: a row written without comparing its revision fails the walk', async () => {
  const property = fc.asyncProperty(walks, (steps) => walk(steps, true));
  const found = await fc.check(property, { seed: 6, numRuns: 1000, endOnFailure: true });
  assert.ok(found.failed);
});
