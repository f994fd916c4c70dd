import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { fail, succeed } from '../../src/lib/result.ts';
import type { MemberId } from '../../src/model/cluster.ts';
import { noticesGathered } from '../../src/cluster/nats/nats-peers.ts';
import { leaseLostMs } from '../../src/model/limits.ts';
import type { PeerHost, Peers } from '../../src/core/ports/peers.ts';
import { peersConformance, type PeersNetwork } from '../conformance/peers.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { NatsRelay } from '../support/nats-relay.ts';
import { joinPeers, linkIs, linkTo, memberId, WatchedLog, type NatsMember } from '../support/nats-scene.ts';
import { startNats, type NatsServer } from '../support/nats-server.ts';
import { notices, questions } from '../support/peer-messages.ts';
import { ScriptedHost } from '../support/scripted-host.ts';

interface Member extends NatsMember {
  readonly clock: DrivenClock;
  readonly log: WatchedLog;
}

async function joinMember(
  t: TestContext,
  url: string,
  self: MemberId,
  host: PeerHost,
  clock = new DrivenClock(),
): Promise<Member> {
  const log = new WatchedLog();
  return { ...(await joinPeers(t, await linkTo(t, url, { log }), self, host, { clock, log })), clock, log };
}

class NatsNetwork implements PeersNetwork {
  readonly clock = new DrivenClock();
  readonly #t: TestContext;
  readonly #server: NatsServer;
  #members: Member[] = [];

  constructor(t: TestContext, server: NatsServer) {
    this.#t = t;
    this.#server = server;
  }

  async join(host: PeerHost): Promise<Peers> {
    const self = memberId(`node-${this.#members.length + 1}`);
    const member = await joinMember(this.#t, this.#server.url, self, host, this.clock);
    this.#members.push(member);
    await this.#allKnow();
    return member.peers;
  }

  async end(ended: Peers): Promise<void> {
    const member = this.#members.find(({ peers }) => peers === ended);
    assert.ok(member !== undefined);
    this.#members = this.#members.filter((other) => other !== member);
    member.peers.close();
    await member.members.stop();
    await this.#allKnow();
  }

  async #allKnow(): Promise<void> {
    while (this.#members.some(({ peers }) => peers.alive().length !== this.#members.length)) await turn();
  }
}

peersConformance('NATS', async (t) => new NatsNetwork(t, await startNats(t)));

async function pair(t: TestContext, firstUrl: string, url = firstUrl) {
  const host = new ScriptedHost();
  const one = await joinMember(t, firstUrl, memberId('one'), new ScriptedHost());
  const two = await joinMember(t, url, memberId('two'), host);
  while (one.peers.alive().length + two.peers.alive().length < 4) await turn();
  return { one, two, host };
}

test('a member that lives and does not listen is nobody, at once', async (t) => {
  const { one, two } = await pair(t, (await startNats(t)).url);
  two.peers.close();
  await two.link.connection.flush();
  assert.deepEqual(await one.peers.ask(two.peers.self, questions.wake, 1000), fail('nobody'));
});

test('a member whose lease is gone is nobody although it listens', async (t) => {
  const { one, two, host } = await pair(t, (await startNats(t)).url);
  while (one.peers.isAlive(two.peers.self)) {
    one.clock.advance(1000);
    await one.link.connection.flush();
  }
  assert.ok(one.clock.monotonicMs() >= leaseLostMs);
  assert.deepEqual(await one.peers.ask(two.peers.self, questions.wake, 1000), fail('nobody'));
  assert.deepEqual(host.asked, []);
});

test('while NATS is away nothing is sent, and what was sent is not known to be done', async (t) => {
  const server = await startNats(t);
  const relay = await NatsRelay.open(t, server.port);
  const { one, two, host } = await pair(t, relay.url, server.url);
  host.isHolding = true;
  const before = one.peers.ask(two.peers.self, questions.wake, 1000);
  await host.askedTimes(1);
  relay.break();
  await linkIs(one.link, 'away');
  assert.deepEqual(await before, fail('unanswered'));
  assert.deepEqual(await one.peers.ask(two.peers.self, questions.wake, 1000), fail('unsent'));
  relay.mend();
  await linkIs(one.link, 'there');
  const after = one.peers.ask(two.peers.self, questions.disconnect, 1000);
  await host.askedTimes(2);
  host.answerHeld(1, true);
  assert.deepEqual(await after, succeed(true));
  assert.deepEqual(host.asked, [questions.wake, questions.disconnect]);
});

test('wakeups that are accepted in a moment are told together, the first at once', async (t) => {
  const { one, host } = await pair(t, (await startNats(t)).url);
  const notice = notices.find(({ kind }) => kind === 'wakeups-accepted');
  assert.ok(notice?.kind === 'wakeups-accepted');
  const { kind, wakeups } = notice;
  const [first, ...others] = wakeups;
  for (let number = 0; number < 3; number++) one.peers.notify('everybody', notice);
  await host.receivedNotices(1);
  one.clock.advance(noticesGathered.ms);
  await host.receivedNotices(2);
  assert.deepEqual(
    host.notices.map((told) => told.notice),
    [
      { kind, wakeups: [first] },
      { kind, wakeups: [...others, ...wakeups, ...wakeups] },
    ],
  );
});

test('what is malformed is logged once a second, and answered by nothing', async (t) => {
  const { one, two, host } = await pair(t, (await startNats(t)).url);
  const { connection, names } = one.link;
  const received: unknown[] = [];
  connection.subscribe('test.inbox.stranger', { callback: (_, message) => void received.push(message) });
  const subject = names.member(two.peers.self);
  for (let sent = 0; sent < 3; sent++)
    connection.publish(subject, 'nonsense', { reply: 'test.inbox.stranger' });
  assert.equal((await one.peers.ask(two.peers.self, questions.disconnect, 1000)).ok, true);
  assert.equal(two.log.lines.filter(({ message }) => /malformed/.test(message)).length, 1);
  assert.deepEqual([received, host.asked.length], [[], 1]);
});
