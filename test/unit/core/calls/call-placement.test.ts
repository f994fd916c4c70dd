import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { fail, succeed } from '../../../../src/lib/result.ts';
import type { DeviceCallsKept, MemberId } from '../../../../src/model/cluster.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { callsPerDeviceMax } from '../../../../src/model/limits.ts';
import type { PeerQuestion } from '../../../../src/model/peer.ts';
import { callsGivenMsMax } from '../../../../src/core/calls/given-calls.ts';
import { CallPlacement } from '../../../../src/core/calls/call-placement.ts';
import type { CallPlacements, KeptCalls } from '../../../../src/core/ports/records.ts';
import { SharedStateUnavailable } from '../../../../src/core/ports/session-locator.ts';
import { callOrder, CallScene, orderForRoom } from '../../../support/call-scene.ts';
import { FakeLog, testDevice } from '../../../support/fakes.ts';

class SharedPlacements implements CallPlacements {
  readonly rows = new Map<DeviceId, KeptCalls>();
  isUnavailable = false;
  /** So many puts hold, and their answers are lost. */
  lostAnswers = 0;
  /** Called once, before the next put: somebody else is faster. */
  meanwhile: (() => void) | null = null;

  async find(deviceId: DeviceId): Promise<KeptCalls | null> {
    if (this.isUnavailable) throw new SharedStateUnavailable('away');
    return this.rows.get(deviceId) ?? null;
  }

  async put(
    deviceId: DeviceId,
    kept: DeviceCallsKept,
    revision: number | null,
  ): Promise<'done' | 'conflict'> {
    if (this.isUnavailable) throw new SharedStateUnavailable('away');
    const { meanwhile } = this;
    this.meanwhile = null;
    meanwhile?.();
    const known = this.rows.get(deviceId)?.revision ?? null;
    if (known !== revision) return 'conflict';
    this.rows.set(deviceId, { ...kept, revision: (known ?? 0) + 1 });
    if (this.lostAnswers === 0) return 'done';
    this.lostAnswers -= 1;
    throw new SharedStateUnavailable('no answer');
  }

  async *all(): AsyncGenerator<KeptCalls & { readonly deviceId: DeviceId }> {
    for (const [deviceId, kept] of this.rows) yield { deviceId, ...kept };
  }
}

class Member {
  readonly name: string;
  readonly id: MemberId;
  readonly scene = new CallScene();
  readonly log = new FakeLog();
  readonly placement: CallPlacement;
  readonly #cluster: Cluster;

  constructor(cluster: Cluster, name: string, life: number) {
    this.name = name;
    this.id = `${name}/0@${life}` as MemberId;
    this.#cluster = cluster;
    this.placement = new CallPlacement({
      clock: this.scene.clock,
      log: this.log,
      directory: this.scene.directory,
      placements: cluster.placements,
      isEnded: async (_, sessionId) => cluster.ended.has(sessionId),
      peers: {
        self: this.id,
        alive: () => cluster.alive.map(({ id }) => id),
        isAlive: (member) => cluster.alive.some(({ id }) => id === member),
        ask: async (to, question) => {
          const asked = cluster.alive.find(({ id }) => id === to);
          const { sessionId } = question as PeerQuestion<'take-calls'>;
          return asked === undefined ? fail('nobody') : succeed(asked.placement.give(sessionId));
        },
      },
    });
  }

  /** As an issuance does, and what the outbox does behind it. */
  async issue(order = callOrder()): Promise<SessionId> {
    assert.equal(await this.placement.coordinatorOf(order.deviceId), 'here');
    const sessionId = this.scene.issue(order);
    this.placement.settled(order.deviceId);
    await this.save(order.deviceId);
    return sessionId;
  }

  /** `about`: of the event that is to be told with it. */
  save(deviceId = testDevice, about: SessionId | null = null): Promise<boolean> {
    return this.placement.save(deviceId, this.scene.records.read(deviceId), about);
  }

  /** The row is what the outbox makes of it, in this very moment. */
  shareAtOnce(deviceId = testDevice): void {
    const { rows } = this.#cluster.placements;
    const sessions = this.scene.records.read(deviceId);
    const revision = (rows.get(deviceId)?.revision ?? 0) + 1;
    rows.set(deviceId, { coordinator: this.id, sessions, isIssuing: false, revision });
  }

  die(): void {
    this.#cluster.alive = this.#cluster.alive.filter((member) => member !== this);
  }
}

class Cluster {
  readonly placements = new SharedPlacements();
  /** Calls of which the log says that they have ended. */
  readonly ended = new Set<SessionId>();
  alive: Member[] = [];

  join(name: string, life = 1): Member {
    const member = new Member(this, name, life);
    this.alive.push(member);
    return member;
  }

  /** The next life of the same process. */
  restart(member: Member): Member {
    member.die();
    return this.join(member.name, 2);
  }
}

function twoMembers(): { cluster: Cluster; a: Member; b: Member } {
  const cluster = new Cluster();
  return { cluster, a: cluster.join('a'), b: cluster.join('b') };
}

test('the first session of a device makes its member the coordinator, and others are sent there', async () => {
  const { a, b } = twoMembers();
  await a.issue();
  assert.equal(await b.placement.coordinatorOf(testDevice), a.id);
  assert.equal(a.placement.coordinatorOf(testDevice), 'here');
});

test('of two members that issue at once one is the coordinator', async () => {
  const { cluster, a, b } = twoMembers();
  const kept = { coordinator: b.id, sessions: [], isIssuing: true, revision: 7 };
  cluster.placements.meanwhile = () => cluster.placements.rows.set(testDevice, kept);
  assert.equal(await a.placement.coordinatorOf(testDevice), b.id);
  assert.equal(cluster.placements.rows.get(testDevice)?.coordinator, b.id);
});

test('a session that is answered for, and that nobody else sees yet, is asked for where it was issued', async () => {
  const { a, b } = twoMembers();
  assert.equal(await a.placement.coordinatorOf(testDevice), 'here');
  assert.equal(await b.placement.coordinatorOf(testDevice), a.id, 'while it is being issued');
  a.scene.issue(callOrder());
  a.placement.settled(testDevice);
  await turn();
  assert.equal(await b.placement.coordinatorOf(testDevice), a.id, 'before it is written');
});

test('what an earlier call still had to write does not give the next one away', async () => {
  const { a, b } = twoMembers();
  const sessionId = await a.issue();
  a.scene.directory.end(sessionId, 'cancelled');
  const issuing = a.placement.coordinatorOf(testDevice);
  await a.save();
  await issuing;
  await a.placement.save(testDevice, []);
  assert.equal(await b.placement.coordinatorOf(testDevice), a.id);
  a.scene.issue(callOrder());
  a.placement.settled(testDevice);
  await a.placement.save(testDevice, []);
  assert.equal(await b.placement.coordinatorOf(testDevice), a.id);
});

test('a session that was refused leaves the next one to anybody', async () => {
  const { a, b } = twoMembers();
  assert.equal(await a.placement.coordinatorOf(testDevice), 'here');
  assert.equal(await a.placement.coordinatorOf(testDevice), 'here');
  a.placement.settled(testDevice);
  await turn();
  assert.equal(await b.placement.coordinatorOf(testDevice), a.id, 'another is at work');
  a.placement.settled(testDevice);
  await turn();
  assert.equal(await b.placement.coordinatorOf(testDevice), 'here');
});

test('a claim of a member that is gone holds nobody up, nor one that cannot be given up', async () => {
  const { cluster, a, b } = twoMembers();
  assert.equal(await a.placement.coordinatorOf(testDevice), 'here');
  cluster.placements.isUnavailable = true;
  a.placement.settled(testDevice);
  await turn();
  assert.equal(a.log.lines.at(-1)?.level, 'warn');
  cluster.placements.isUnavailable = false;
  assert.equal(await b.placement.coordinatorOf(testDevice), a.id);
  a.die();
  assert.equal(await b.placement.coordinatorOf(testDevice), 'here');
});

test('when its calls are over anybody may keep the next ones', async () => {
  const { a, b } = twoMembers();
  const sessionId = await a.issue();
  a.scene.directory.end(sessionId, 'cancelled');
  await a.save();
  assert.equal(await b.placement.coordinatorOf(testDevice), 'here');
});

test('a call of a coordinator that is gone goes on at the member that is asked next', async () => {
  const { a, b } = twoMembers();
  const sessionId = await a.issue();
  a.die();
  assert.equal(await b.placement.coordinatorOf(testDevice), 'here');
  assert.equal(b.scene.state(sessionId), 'issued');
  assert.deepEqual(b.scene.told(sessionId), []);
});

test('a member that fails over another takes up its calls, each once', async () => {
  const { cluster, a, b } = twoMembers();
  const other = 'TESTDEVICE02' as DeviceId;
  const sessions = [await a.issue(), await a.issue(callOrder({ deviceId: other }))];
  a.die();
  assert.equal(await b.placement.takeOver(a.id), 2);
  for (const sessionId of sessions) assert.equal(b.scene.state(sessionId), 'issued');
  assert.equal(await b.placement.takeOver(a.id), 0);
  assert.equal(cluster.placements.rows.get(other)?.coordinator, b.id);
});

test('a device that comes elsewhere takes all its calls along, while nobody is connected to them', async () => {
  const { a, b } = twoMembers();
  const first = await a.issue();
  const second = await a.issue(orderForRoom('room-2'));
  await b.placement.fetch(first, testDevice);
  assert.deepEqual([b.scene.state(first), b.scene.state(second)], ['issued', 'issued']);
  assert.equal(a.scene.directory.size, 0);
  assert.deepEqual(a.scene.told(first), [], 'it did not end');
  assert.equal(await a.placement.coordinatorOf(testDevice), b.id);
});

test('what the old coordinator still had to write does not take the calls back', async () => {
  const { cluster, a, b } = twoMembers();
  const sessionId = await a.issue();
  await b.placement.fetch(sessionId, testDevice);
  await a.save();
  await b.save();
  assert.deepEqual(
    cluster.placements.rows.get(testDevice)?.sessions.map((session) => session.sessionId),
    [sessionId],
  );
});

test('calls of a lost member that were claimed without an answer are here all the same, and looked for again', async () => {
  const { cluster, a, b } = twoMembers();
  const sessionId = await a.issue();
  a.die();
  cluster.placements.lostAnswers = 1;
  await assert.rejects(b.placement.takeOver(a.id), SharedStateUnavailable);
  assert.equal(b.scene.state(sessionId), 'issued');
  assert.equal(cluster.placements.rows.get(testDevice)?.coordinator, b.id);
});

test('calls that were given and never came to who asked for them are taken back', async () => {
  const { cluster, a } = twoMembers();
  const sessionId = await a.issue();
  assert.equal(a.placement.give(sessionId).kind, 'given');
  await a.save();
  assert.equal(
    cluster.placements.rows.get(testDevice)?.sessions.length,
    1,
    'others find it if this one is lost',
  );
  assert.equal(a.scene.state(sessionId), null);
  a.scene.clock.advance(callsGivenMsMax);
  await turn();
  assert.equal(a.scene.state(sessionId), 'issued');
});

test('a call that was given, has come back and ended here is not looked for any more', async () => {
  const { a, b } = twoMembers();
  const sessionId = await a.issue();
  await b.placement.fetch(sessionId, testDevice);
  b.die();
  await a.placement.takeOver(b.id);
  assert.equal(a.scene.state(sessionId), 'issued');
  a.scene.directory.end(sessionId, 'cancelled');
  // The log of all does not say so yet.
  a.scene.clock.advance(callsGivenMsMax);
  await turn();
  assert.equal(a.scene.state(sessionId), null);
});

for (const [next, begin] of [
  ['shares that it has none', (later: Member) => later.save()],
  ['issues another call', async (later: Member) => void (await later.issue(orderForRoom('room-2')))],
] as const)
  test(`calls that an earlier life has given and nobody has claimed are taken back when the next one ${next}`, async () => {
    const { cluster, a } = twoMembers();
    const sessionId = await a.issue();
    assert.equal(a.placement.give(sessionId).kind, 'given');
    const later = cluster.restart(a);
    later.placement.resumeWithout(testDevice);
    await begin(later);
    later.scene.clock.advance(callsGivenMsMax);
    await turn();
    assert.equal(later.scene.state(sessionId), 'issued');
  });

test('of calls that an earlier life has left, those that have ended stay so', async () => {
  const { cluster, a } = twoMembers();
  const sessionId = await a.issue();
  assert.equal(a.placement.give(sessionId).kind, 'given');
  const later = cluster.restart(a);
  later.placement.resumeWithout(testDevice);
  await later.save();
  cluster.ended.add(sessionId);
  later.scene.clock.advance(callsGivenMsMax);
  await turn();
  assert.equal(later.scene.state(sessionId), null);
  assert.deepEqual(cluster.placements.rows.get(testDevice)?.sessions, []);
});

test('calls that were given and have come to who asked for them stay there, also those that have ended since', async () => {
  const { cluster, a, b } = twoMembers();
  const [sessionId, ended] = [await a.issue(), await a.issue(orderForRoom('room-2'))];
  await b.placement.fetch(sessionId, testDevice);
  b.scene.directory.end(ended, 'cancelled');
  cluster.ended.add(ended);
  a.scene.clock.advance(callsGivenMsMax);
  await turn();
  assert.equal(a.scene.directory.size, 0);
  assert.equal(b.scene.state(sessionId), 'issued');
});

test('a call with a leg connected stays where it is', async () => {
  const { a, b } = twoMembers();
  const sessionId = await a.issue();
  a.scene.connectDevice(sessionId);
  await b.placement.fetch(sessionId, testDevice);
  assert.equal(b.scene.state(sessionId), null);
  assert.equal(a.scene.state(sessionId), 'establishing');
});

test('a bridge that names a session finds it without knowing its device', async () => {
  const { a, b } = twoMembers();
  const sessionId = await a.issue();
  await b.placement.fetch(sessionId, null);
  assert.equal(b.scene.state(sessionId), 'issued');
});

test('a leg that comes for a call that is over takes no other call of its device out of what all share', async () => {
  const { cluster, a } = twoMembers();
  const [over, live] = [await a.issue(), await a.issue(orderForRoom('room-2'))];
  a.scene.directory.end(over, 'cancelled');
  await a.save();
  await a.placement.fetch(over, testDevice);
  assert.deepEqual(
    cluster.placements.rows.get(testDevice)?.sessions.map(({ sessionId }) => sessionId),
    [live],
  );
});

test('a leg that comes for a call that is over takes no call out of what all share that is issued meanwhile', async () => {
  const { cluster, a } = twoMembers();
  const over = await a.issue();
  a.scene.directory.end(over, 'cancelled');
  await a.save(testDevice, over);
  const fetching = a.placement.fetch(over, testDevice);
  let issued: SessionId | null = null;
  cluster.placements.meanwhile = () => {
    issued = a.scene.issue(orderForRoom('room-2'));
    a.shareAtOnce();
  };
  await fetching;
  const shared = cluster.placements.rows.get(testDevice)?.sessions.map(({ sessionId }) => sessionId);
  assert.deepEqual(shared, [issued]);
});

test('a claim that is given up takes no call out of what all share that is issued meanwhile', async () => {
  const { cluster, a } = twoMembers();
  assert.equal(await a.placement.coordinatorOf(testDevice), 'here');
  let issued: SessionId | null = null;
  cluster.placements.meanwhile = () => {
    issued = a.scene.issue(callOrder());
    a.shareAtOnce();
  };
  a.placement.settled(testDevice);
  await turn();
  const shared = cluster.placements.rows.get(testDevice)?.sessions.map(({ sessionId }) => sessionId);
  assert.deepEqual(shared, [issued]);
});

test('a session that nobody has is brought from nowhere', async () => {
  const { b } = twoMembers();
  await b.placement.fetch('session-of-nobody' as SessionId, null);
  assert.equal(b.scene.directory.size, 0);
});

test('while what is shared is away, the calls that are here have their home, and others none', async () => {
  const { cluster, a } = twoMembers();
  await a.issue();
  cluster.placements.isUnavailable = true;
  assert.equal(a.placement.coordinatorOf(testDevice), 'here');
  assert.equal(await a.placement.coordinatorOf('TESTDEVICE02' as DeviceId), 'unavailable');
  await assert.rejects(a.placement.sessionsOf('TESTDEVICE02' as DeviceId), SharedStateUnavailable);
});

test('the sessions of another coordinator are told, and its own are not told twice', async () => {
  const { a, b } = twoMembers();
  const sessionId = await a.issue();
  assert.deepEqual(
    (await b.placement.sessionsOf(testDevice)).map((session) => session.sessionId),
    [sessionId],
  );
  assert.deepEqual(await a.placement.sessionsOf(testDevice), []);
});

test('the calls of a device are located where they are kept, with what all see of them', async () => {
  const { a, b } = twoMembers();
  const sessionId = await a.issue();
  const { member, sessions } = await b.placement.locate(testDevice);
  assert.deepEqual([member, sessions.map((session) => session.sessionId)], [a.id, [sessionId]]);
  assert.deepEqual(await a.placement.locate(testDevice), { member: 'here', sessions: [] });
});

test('a call that is being issued is located where that is done, and one that nobody has here', async () => {
  const { a, b } = twoMembers();
  assert.equal((await b.placement.locate(testDevice)).member, 'here');
  assert.equal(await a.placement.coordinatorOf(testDevice), 'here');
  assert.equal((await b.placement.locate(testDevice)).member, a.id);
});

test('calls that are over are asked for where they were, as long as that member lives', async () => {
  const { a, b } = twoMembers();
  a.scene.directory.end(await a.issue(), 'cancelled');
  await a.save();
  assert.deepEqual(await b.placement.locate(testDevice), { member: a.id, sessions: [] });
  assert.deepEqual(await a.placement.locate(testDevice), { member: 'here', sessions: [] });
  a.die();
  assert.equal((await b.placement.locate(testDevice)).member, 'here');
});

test('to be ended, the calls of a coordinator that is gone are taken up here', async () => {
  const { a, b } = twoMembers();
  const sessionId = await a.issue();
  a.die();
  assert.equal((await b.placement.locate(testDevice)).member, 'here');
  assert.equal(b.scene.state(sessionId), 'issued');
});

test('while what is shared is away, the calls that are here are located, and others are not', async () => {
  const { cluster, a, b } = twoMembers();
  await a.issue();
  cluster.placements.isUnavailable = true;
  assert.equal((await a.placement.locate(testDevice)).member, 'here');
  assert.equal((await b.placement.locate(testDevice)).member, 'unavailable');
});

test('a member that was called lost gives up the calls that another has taken over, and their legs come again', async () => {
  const { a, b } = twoMembers();
  const sessionId = await a.issue();
  const leg = a.scene.connectDevice(sessionId);
  await a.save();
  await b.placement.takeOver(a.id);
  await a.placement.reconcile();
  assert.equal(a.scene.state(sessionId), null);
  assert.deepEqual(leg.closes, ['moved']);
  assert.deepEqual(a.scene.told(sessionId), ['started establishing'], 'nobody is told that it ended');
  assert.equal(b.scene.state(sessionId), 'establishing');
});

test('a call that another member has taken over is not told to have ended by the one that had it', async () => {
  const { cluster, a, b } = twoMembers();
  const sessionId = await a.issue();
  await b.placement.takeOver(a.id);
  a.scene.directory.end(sessionId, 'cancelled');
  assert.equal(await a.save(testDevice, sessionId), false, 'it is live there');
  b.scene.directory.end(sessionId, 'timeout');
  await b.save();
  assert.equal(await a.save(testDevice, sessionId), false, 'it has ended there');
  const later = cluster.restart(a);
  cluster.ended.add(sessionId);
  assert.equal(await later.save(testDevice, sessionId), false, 'it has ended there, before this start');
});

test('a call of its last life that another member has taken over is not told to have ended by its next', async () => {
  const { cluster, a, b } = twoMembers();
  const sessionId = await a.issue();
  const later = cluster.restart(a);
  later.placement.resume(testDevice, a.scene.records.read(testDevice));
  await b.placement.takeOver(a.id);
  b.scene.directory.end(sessionId, 'error');
  await b.save();
  assert.equal(await later.save(testDevice, sessionId), false, 'the log does not say so yet');
});

test('a call that no other member ever had ends here, and is told, when another keeps the device', async () => {
  const { a, b } = twoMembers();
  assert.equal(await a.placement.coordinatorOf(testDevice), 'here');
  const unshared = a.scene.issue(callOrder());
  a.die();
  await b.issue(orderForRoom('room-2'));
  await a.placement.reconcile();
  assert.equal(a.scene.state(unshared), null);
  assert.deepEqual(a.scene.told(unshared), ['ended replaced']);
  assert.equal(await a.save(testDevice, unshared), true);
});

test('a member that starts again keeps the calls that its last life kept', async () => {
  const { cluster, a } = twoMembers();
  const sessionId = await a.issue();
  const later = cluster.restart(a);
  later.scene.directory.adopt(testDevice, [a.scene.records.read(testDevice)[0] ?? assert.fail()]);
  await later.placement.reconcile();
  assert.equal(cluster.placements.rows.get(testDevice)?.coordinator, later.id);
  assert.equal(later.scene.state(sessionId), 'issued');
});

test('calls that come from another member leave the device no more than it may have', async () => {
  const { a, b } = twoMembers();
  for (const room of ['1', '2', '3']) await a.issue(orderForRoom(room));
  const own = ['4', '5'].map((room) => b.scene.issue(orderForRoom(room)));
  await b.placement.takeOver(a.id);
  assert.equal(b.scene.directory.sessionsOf(testDevice).length, callsPerDeviceMax);
  assert.deepEqual(b.scene.told(own[0] ?? assert.fail()), ['ended replaced']);
});
