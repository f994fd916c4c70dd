import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { NatsLink } from '../../src/cluster/nats/nats-link.ts';
import { NatsKvStore } from '../../src/cluster/nats/nats-kv-store.ts';
import { NatsMembers } from '../../src/cluster/membership/nats-members.ts';
import type { MemberId, MemberState } from '../../src/model/cluster.ts';
import { leaseLostMs, leaseRenewMs } from '../../src/model/limits.ts';
import type { MembersStore } from '../../src/cluster/membership/nats-leases.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { linkIs, linkTo, memberId, statusOf, WatchedLog } from '../support/nats-scene.ts';
import { startNats } from '../support/nats-server.ts';

class ObservedLeases {
  /** To give to who is observed. */
  readonly kv: MembersStore;
  readonly #link: NatsLink;
  readonly #real: NatsKvStore;
  #pending = 0;
  /** Null: it does not watch. */
  #seen: number | null = null;

  constructor(link: NatsLink) {
    const real = new NatsKvStore(link, 'members', new SystemClock());
    this.#link = link;
    this.#real = real;
    this.kv = {
      find: (...args) => this.#count(real.find(...args)),
      compareAndSet: (...args) => this.#count(real.compareAndSet(...args)),
      remove: (...args) => this.#count(real.remove(...args)),
      erase: (revision) => real.erase(revision),
      watch: (onChange) => this.#count(this.#watch(onChange)),
    };
  }

  /** Resolves when nothing is under way, and all that was written by anyone has been seen. */
  async settled(): Promise<void> {
    await this.#idle();
    if (this.#link.isUnavailable || this.#seen === null) return;
    const newest = await this.#real.position();
    while (this.#seen !== null && this.#seen < newest && !this.#link.isUnavailable) await turn();
    await this.#idle();
  }

  async #idle(): Promise<void> {
    do await turn();
    while (this.#pending > 0);
  }

  async #watch(onChange: Parameters<MembersStore['watch']>[0]): Promise<() => void> {
    this.#seen = 0;
    const stop = await this.#real.watch((change) => {
      this.#seen = change.revision;
      onChange(change);
    });
    return () => {
      this.#seen = null;
      stop();
    };
  }

  async #count<Value>(work: Promise<Value>): Promise<Value> {
    this.#pending++;
    try {
      return await work;
    } finally {
      this.#pending--;
    }
  }
}

/** One member over a real NATS, with a clock of its own: one whose clock stands still hangs. */
class Life {
  readonly clock = new DrivenClock();
  readonly log = new WatchedLog();
  readonly failedOver: MemberId[] = [];
  readonly member: MemberId;
  readonly link: NatsLink;
  readonly leases: ObservedLeases;
  readonly members: NatsMembers;
  reregistrations = 0;
  failOver: (member: MemberId) => Promise<void> = () => Promise.resolve();

  static async begin(t: TestContext, url: string, member: MemberId): Promise<Life> {
    const life = new Life(member, await linkTo(t, url));
    await life.link.ready();
    await life.members.start();
    t.after(() => life.members.stop());
    return life;
  }

  private constructor(member: MemberId, link: NatsLink) {
    this.member = member;
    this.link = link;
    this.leases = new ObservedLeases(link);
    this.members = new NatsMembers({
      link,
      kv: this.leases.kv,
      clock: this.clock,
      log: this.log,
      self: member,
      status: () => statusOf(member, this.clock),
      failOver: (lost) => {
        this.failedOver.push(lost);
        return this.failOver(lost);
      },
      reregister: () => this.reregistrations++,
    });
  }

  knows(state: MemberState | null, member: MemberId): boolean {
    const status = this.members.all().find((status) => status.member === member);
    return (status?.state ?? null) === state;
  }
}

/** Time goes by for these, and for nobody else, until it is so: what they write is seen by all meanwhile. */
async function live(lives: readonly Life[], until: () => boolean, ms = Infinity): Promise<void> {
  for (let goneMs = 0; !until() && goneMs < ms; goneMs += 250) {
    for (const { clock } of lives) clock.advance(250);
    await Promise.all(lives.map(({ leases }) => leases.settled()));
  }
}

async function three(t: TestContext, url: string): Promise<[Life, Life, Life]> {
  const lives = await Promise.all([
    Life.begin(t, url, memberId('one')),
    Life.begin(t, url, memberId('two')),
    Life.begin(t, url, memberId('three')),
  ]);
  await live(lives, () => lives.every(({ members }) => members.alive().length === 3));
  return lives;
}

test('members know each other, also who comes later and who drains and leaves', async (t) => {
  const { url } = await startNats(t);
  const [one, two] = await three(t, url);
  const late = await Life.begin(t, url, memberId('late'));
  await live([one, late], () => one.members.isAlive(late.member) && late.members.alive().length === 4);
  late.members.draining();
  await live([one, late], () => one.knows('draining', late.member));
  assert.equal(one.members.isAlive(late.member), true);
  await late.members.stop();
  await live([one, two], () => [one, two].every((life) => life.knows(null, late.member)));
  assert.deepEqual([one.failedOver, two.failedOver], [[], []]);
});

test('a member that hangs is lost 10 to 14 s later, and failed over once, by one of those who live', async (t) => {
  const { url } = await startNats(t);
  const [one, two, three_] = await three(t, url);
  const beganMs = one.clock.monotonicMs();
  const failedOver = (): MemberId[] => [...one.failedOver, ...two.failedOver];
  await live([one, two], () => failedOver().length > 0);
  const tookMs = one.clock.monotonicMs() - beganMs;
  assert.ok(tookMs >= leaseLostMs - leaseRenewMs && tookMs <= 14_000, `lost after ${tookMs} ms`);
  assert.equal(one.members.isAlive(three_.member), false);
  await live([one, two], () => [one, two].every((life) => life.knows(null, three_.member)));
  await live([one, two], () => false, 3 * leaseLostMs);
  assert.deepEqual(failedOver(), [three_.member]);
});

test('who stops in a failover is followed by the next, and its own sessions are failed over as well', async (t) => {
  const { url } = await startNats(t);
  const lives = await three(t, url);
  const [, , dead] = lives;
  for (const life of lives) life.failOver = () => new Promise(() => undefined);
  const [one, two] = lives;
  await live([one, two], () => one.failedOver.length + two.failedOver.length > 0);
  const [first, next] = one.failedOver.length > 0 ? [one, two] : [two, one];
  next.failOver = () => Promise.resolve();
  await live([next], () => next.failedOver.length === 2 && next.knows(null, dead.member));
  assert.deepEqual(new Set(next.failedOver), new Set([dead.member, first.member]));
});

test('a failover that fails is tried again by the same member', async (t) => {
  const { url } = await startNats(t);
  const [one, two, dead] = await three(t, url);
  await two.members.stop();
  one.failOver = () => {
    if (one.failedOver.length < 3) return Promise.reject(new Error('the store is away'));
    return Promise.resolve();
  };
  await live([one], () => one.knows(null, dead.member));
  assert.deepEqual(one.failedOver, [dead.member, dead.member, dead.member]);
});

test('a member that was failed over while it hung claims its sessions again and comes back under its id', async (t) => {
  const { url } = await startNats(t);
  const [one, two, slow] = await three(t, url);
  await live([one, two], () => [one, two].every((life) => life.knows(null, slow.member)));
  assert.equal(slow.reregistrations, 0);
  await live([one, two, slow], () => one.members.isAlive(slow.member) && two.members.isAlive(slow.member));
  assert.equal(slow.reregistrations, 1);
  assert.deepEqual([...slow.failedOver], []);
});

test('a member that comes back while it is failed over waits until that is done', async (t) => {
  const { url } = await startNats(t);
  const [one, two, slow] = await three(t, url);
  await two.members.stop();
  let finish = (): void => undefined;
  one.failOver = () => new Promise((resolve) => (finish = resolve));
  await live([one], () => one.failedOver.length === 1);
  await live([one, slow], () => slow.knows('lost', slow.member));
  await live([one, slow], () => false, 2 * leaseLostMs);
  assert.equal(slow.reregistrations, 0);
  finish();
  await live([one, slow], () => one.members.isAlive(slow.member));
  assert.equal(slow.reregistrations, 1);
  assert.deepEqual(one.failedOver, [slow.member]);
});

test('the only other member, failed over by one that died of it, comes back by itself', async (t) => {
  const { url } = await startNats(t);
  const [one, two, slow] = await three(t, url);
  await two.members.stop();
  one.failOver = () => new Promise(() => undefined);
  await live([one], () => one.failedOver.length === 1);
  await live([slow], () => slow.reregistrations === 1 && slow.knows('up', slow.member));
});

test('who was stopped itself calls nobody lost when it goes on', async (t) => {
  const { url } = await startNats(t);
  const [one, two, other] = await three(t, url);
  one.clock.stall(60_000);
  await live([one, two, other], () => false, leaseLostMs - leaseRenewMs);
  assert.deepEqual(one.failedOver, []);
  assert.equal(one.members.alive().length, 3);
});

test('a NATS that was away for a minute has lost nobody', async (t) => {
  const server = await startNats(t);
  const lives = await three(t, server.url);
  const isUnavailable = Promise.all(lives.map(({ link }) => linkIs(link, 'away')));
  await server.kill();
  await isUnavailable;
  for (const { clock } of lives) clock.advance(60_000);
  const isThere = Promise.all(lives.map(({ link }) => linkIs(link, 'there')));
  await server.start();
  await isThere;
  await live(lives, () => false, 2 * leaseLostMs);
  assert.deepEqual(
    lives.map(({ failedOver, reregistrations, members }) => [
      failedOver.length,
      reregistrations,
      members.alive().length,
    ]),
    [
      [0, 0, 3],
      [0, 0, 3],
      [0, 0, 3],
    ],
  );
});

test('a lease that is not one is passed over', async (t) => {
  const { url } = await startNats(t);
  const one = await Life.begin(t, url, memberId('one'));
  await new NatsKvStore(one.link, 'members', one.clock).put('nonsense', Buffer.from('nonsense'));
  await one.log.logged(/a lease of the cluster is malformed/);
  assert.deepEqual(one.members.alive(), [one.member]);
});
