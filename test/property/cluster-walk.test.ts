/**
 * Members of one server on a random walk: devices log in, heartbeat and go at any of them, commits come late and in any order,
 * and members tell each other. Whenever all of it has arrived, every member says of a device, and does for it, what a naive
 * model does.
 * Source: cluster.md, Ownership and Record.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ConnectionKind } from '../../src/model/cluster.ts';
import type { ConnectionTimes } from '../../src/model/connectivity.ts';
import type { SessionId } from '../../src/model/ids.ts';
import { FakeConnection, testDevice, type FakeSignalConnection } from '../support/fakes.ts';
import { ClusterScene, settle, type ClusterMember } from '../support/cluster-scene.ts';

const kinds = ['sleep', 'signal'] as const;
/** Two processes of one node, and two nodes more. */
const nodes = ['n1', 'n1', 'n2', 'n3', 'n4'];

type Step =
  | { readonly what: 'login'; readonly kind: ConnectionKind; readonly place: number }
  /** `socket`: how many logins ago the connection was made that this is about. */
  | { readonly what: 'end' | 'heartbeat'; readonly kind: ConnectionKind; readonly socket: number }
  | { readonly what: 'commit'; readonly place: number }
  | { readonly what: 'settle' }
  | { readonly what: 'pass'; readonly ms: number };

const kind = fc.constantFrom(...kinds);
const place = fc.integer({ min: 0, max: nodes.length - 1 });
const socket = fc.constantFrom(0, 0, 1, 2, 3);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ what: fc.constant('login'), kind, place }) },
  { weight: 6, arbitrary: fc.record({ what: fc.constantFrom('end', 'heartbeat'), kind, socket }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('commit'), place }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('settle') }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('pass'), ms: fc.integer({ min: 1, max: 3000 }) }) },
);

interface Peer {
  readonly kind: ConnectionKind;
  readonly place: number;
  readonly session: SessionId;
  readonly epoch: number;
  readonly connection: FakeConnection | FakeSignalConnection;
  readonly loginAt: number;
  /** Unix seconds; null: it has not ended by itself. */
  endedAt: number | null;
}

/** What was committed, by who, in the order of all. */
interface Fact {
  readonly what: 'login' | 'end';
  readonly peer: Peer;
}

class Walk {
  readonly scene = new ClusterScene(nodes);
  readonly peers: Peer[] = [];
  readonly facts: Fact[] = [];
  readonly #uncommitted = nodes.map((): Fact[] => []);

  async take(taken: Step): Promise<void> {
    switch (taken.what) {
      case 'login':
        return this.#login(taken.kind, taken.place);
      case 'end':
      case 'heartbeat': {
        const peer = this.peers.filter((one) => one.kind === taken.kind).at(-1 - taken.socket);
        // A connection that the server has closed says no more.
        if (peer === undefined || peer.endedAt !== null || peer.connection.closes.length > 0) return;
        if (taken.what === 'heartbeat') peer.connection.lastHeartbeatAt = this.#nowS();
        else this.#end(peer);
        return;
      }
      case 'commit':
        return this.commit(taken.place);
      case 'settle':
        for (const at of nodes.keys()) this.commit(at);
        await settle();
        return this.#settled();
      case 'pass':
        this.scene.clock.advance(taken.ms);
    }
  }

  commit(at: number): void {
    this.facts.push(...(this.#uncommitted[at]?.splice(0) ?? []));
    this.scene.member(at).commit();
  }

  /** Closed members have told it before they are looked at. */
  async #settled(): Promise<void> {
    for (const at of nodes.keys()) this.commit(at);
    await settle();
    await checkAll(this);
  }

  #login(of: ConnectionKind, at: number): void {
    const member = this.scene.member(at);
    const opened =
      of === 'sleep' ? member.sleep({ isCommitted: false }) : member.comeOnline({ isCommitted: false });
    const peer = { kind: of, place: at, ...opened, loginAt: this.#nowS(), endedAt: null };
    this.peers.push(peer);
    this.#uncommitted[at]?.push({ what: 'login', peer });
  }

  #end(peer: Peer): void {
    this.scene.member(peer.place).end(peer.kind, peer.session, { isCommitted: false });
    peer.endedAt = this.#nowS();
    this.#uncommitted[peer.place]?.push({ what: 'end', peer });
  }

  #nowS(): number {
    return Math.floor(this.scene.clock.wallMs() / 1000);
  }
}

interface Expected {
  readonly holders: readonly Peer[];
  readonly lastLoginAt: number | null;
  readonly lastOfflineAt: number | null;
}

/** One session of signal, one a node of sleep and three in all: the last login stays, the oldest goes. */
function expect(facts: readonly Fact[], of: ConnectionKind): Expected {
  let holders: Peer[] = [];
  const offline: number[] = [];
  const mine = facts.filter(({ peer }) => peer.kind === of);
  for (const { what, peer } of mine) {
    if (what === 'login') {
      const rivals = holders.filter((other) => of === 'signal' || nodes[other.place] === nodes[peer.place]);
      const isFull = rivals.length === 0 && holders.length === 3;
      holders = [...holders.filter((other, i) => !rivals.includes(other) && !(isFull && i === 0)), peer];
    } else if (holders.includes(peer)) {
      holders = holders.filter((other) => other !== peer);
      offline.push(peer.endedAt ?? 0);
    }
  }
  const logins = mine.flatMap(({ what, peer }) => (what === 'login' ? [peer.loginAt] : []));
  return { holders, lastLoginAt: latest(logins), lastOfflineAt: latest(offline) };
}

function latest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.max(...times);
}

function wakesOf({ connection }: Peer): number {
  return connection instanceof FakeConnection ? connection.wakes.length : 0;
}

/** It is written to all its sessions, once, and to nobody else's; or its limit says when to come back. */
async function checkWakeup({ scene, peers }: Walk, holders: readonly Peer[]): Promise<void> {
  const wakes = peers.map(wakesOf);
  const code = await scene.member(peers.length % nodes.length).wake();
  await settle();
  if (holders.length === 0) assert.equal(code, 40412);
  else assert.ok(code === 0 || code === 42901, `the wakeup is answered ${code}`);
  for (const [i, peer] of peers.entries())
    assert.equal(
      wakesOf(peer) - (wakes[i] ?? 0),
      code === 0 && holders.includes(peer) ? 1 : 0,
      `writes to ${peer.session}`,
    );
}

async function checkAll(walk: Walk): Promise<void> {
  const { scene, peers, facts } = walk;
  const expected = { sleep: expect(facts, 'sleep'), signal: expect(facts, 'signal') };
  for (const [at, member] of scene.members.entries()) {
    for (const of of kinds)
      assert.equal(
        sessionAt(member, of),
        expected[of].holders.find((peer) => peer.place === at)?.session ?? null,
        `${of} at ${at}`,
      );
    await checkRecord(member, expected, peers);
  }
  for (const peer of peers) {
    const isOpen = expected[peer.kind].holders.includes(peer);
    const closes = isOpen || peer.endedAt !== null ? [] : ['replaced'];
    assert.deepEqual(peer.connection.closes, closes, `closes of ${peer.session}`);
  }
  await checkWakeup(walk, expected.sleep.holders);
}

function sessionAt({ directory }: ClusterMember, of: ConnectionKind): SessionId | null {
  const actor = directory.find(testDevice);
  return (of === 'sleep' ? actor?.session('sleep') : actor?.session('signal')) ?? null;
}

async function checkRecord(
  member: ClusterMember,
  expected: Readonly<Record<ConnectionKind, Expected>>,
  peers: readonly Peer[],
): Promise<void> {
  const record = await member.query();
  assert.ok(typeof record === 'object', 'a record is answered');
  assert.equal(record.signal.isOnline, expected.signal.holders.length > 0, `online by ${member.id}`);
  for (const of of kinds) {
    const { lastLoginAt, lastOfflineAt, lastHeartbeatAt }: ConnectionTimes = record[of];
    const { holders, lastLoginAt: loginAt, lastOfflineAt: offlineAt } = expected[of];
    assert.deepEqual([lastLoginAt, lastOfflineAt], [loginAt, offlineAt], `${of} by ${member.id}`);
    // What a session had heard that was superseded may be lost; what a live one has heard is exact.
    const atLeast = Math.max(0, ...holders.map(({ connection }) => connection.lastHeartbeatAt));
    const atMost = Math.max(
      0,
      ...peers.map((peer) => (peer.kind === of ? peer.connection.lastHeartbeatAt : 0)),
    );
    assert.ok((lastHeartbeatAt ?? 0) >= atLeast && (lastHeartbeatAt ?? 0) <= atMost, `${of} heartbeat`);
  }
}

function walkWith(start: () => Walk): fc.IAsyncPropertyWithHooks<[Step[]]> {
  return fc.asyncProperty(fc.array(step, { maxLength: 100, size: 'max' }), async (steps) => {
    const walk = start();
    for (const taken of steps) await walk.take(taken);
    await walk.take({ what: 'settle' });
  });
}

test('every member agrees with a naive model whenever all has arrived, on every walk', async () => {
  await fc.assert(
    walkWith(() => new Walk()),
    { numRuns: 60 },
  );
});

class TellsNobodySuperseded extends Walk {
  constructor() {
    super();
    for (const { peers } of this.scene.members) peers.notify = () => undefined;
  }
}

class ForgetsACommit extends Walk {
  override commit(at: number): void {
    if (at !== 1) super.commit(at);
  }
}

for (const Broken of [TellsNobodySuperseded, ForgetsACommit])
  test(`canary: a server that ${Broken.name} fails the walk`, async () => {
    const result = await fc.check(
      walkWith(() => new Broken()),
      { numRuns: 20, endOnFailure: true },
    );
    assert.equal(result.failed, true);
  });
