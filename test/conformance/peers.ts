/** Conformance of the port Peers over any transport. Messages arrive at any time; the clock is driven. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fail, succeed } from '../../src/lib/result.ts';
import type { MemberId } from '../../src/model/cluster.ts';
import { peerMessageBytesMax, peerQuestionsMax } from '../../src/model/limits.ts';
import type { PeerNotice } from '../../src/protocol/cluster/peer-message.ts';
import type { PeerHost, Peers } from '../../src/core/ports/peers.ts';
import { signedOrder, callRoom } from '../support/call-scene.ts';
import type { DrivenClock } from '../support/driven-clock.ts';
import { answers, notices, peerKinds, questions } from '../support/peer-messages.ts';
import { ScriptedHost } from '../support/scripted-host.ts';

export interface PeersNetwork {
  readonly clock: DrivenClock;
  /** Adds a member; resolves when it and all others know each other. */
  join(host: PeerHost): Promise<Peers>;
  /** Ends the member, in order or not; resolves when all others know. */
  end(peers: Peers): Promise<void>;
}

/** `t`: the members end with the test. */
export type MakePeersNetwork = (t: TestContext) => Promise<PeersNetwork> | PeersNetwork;

function noticeOf(kind: PeerNotice['kind']): PeerNotice {
  return notices.find((notice) => notice.kind === kind) ?? assert.fail(kind);
}

const [oneNotice, otherNotice] = [noticeOf('wake-reported'), noticeOf('message-answered')];

/** More than a deadline may be late. */
const lateMsMax = 100;

async function pairOf(t: TestContext, makeNetwork: MakePeersNetwork) {
  const network = await makeNetwork(t);
  const hosts = [new ScriptedHost(), new ScriptedHost()] as const;
  const one = await network.join(hosts[0]);
  const two = await network.join(hosts[1]);
  return { network, clock: network.clock, one, two, host: hosts[1], ownHost: hosts[0] };
}

async function isOpen(ask: Promise<unknown>): Promise<boolean> {
  return (await Promise.race([ask, Promise.resolve('open')])) === 'open';
}

export function peersConformance(name: string, makeNetwork: MakePeersNetwork): void {
  for (const kind of peerKinds)
    test(`${name}: ${kind} and its answer arrive unchanged`, async (t) => {
      const { one, two, host } = await pairOf(t, makeNetwork);
      host.isHolding = true;
      for (const [place, answer] of answers[kind].entries()) {
        const ask = one.ask(two.self, questions[kind], 1000);
        await host.askedTimes(place + 1);
        host.answerHeld(place, answer);
        assert.deepEqual(await ask, succeed(answer));
        assert.deepEqual(host.asked.at(-1), questions[kind]);
      }
    });

  test(`${name}: members know all living members, including themselves`, async (t) => {
    const { network, one, two } = await pairOf(t, makeNetwork);
    assert.deepEqual(new Set(one.alive()), new Set([one.self, two.self]));
    assert.deepEqual([one.isAlive(one.self), one.isAlive(two.self)], [true, true]);
    await network.end(two);
    assert.deepEqual([one.alive(), one.isAlive(two.self)], [[one.self], false]);
  });

  test(`${name}: a question to an absent member has no answer`, async (t) => {
    const { network, one, two, host } = await pairOf(t, makeNetwork);
    const stranger = 'node-9/9@never' as MemberId;
    assert.deepEqual(await one.ask(stranger, questions.disconnect, 1000), fail('nobody'));
    await network.end(two);
    assert.deepEqual(await one.ask(two.self, questions.disconnect, 1000), fail('nobody'));
    assert.deepEqual(host.asked, []);
  });

  test(`${name}: a question to a member that ends has an unknown outcome`, async (t) => {
    const { network, one, two, host } = await pairOf(t, makeNetwork);
    host.isHolding = true;
    const ask = one.ask(two.self, questions.wake, 1000);
    await host.askedTimes(1);
    await network.end(two);
    assert.deepEqual(await ask, fail('unanswered'));
  });

  test(`${name}: each question to a silent member waits for its own timeout`, async (t) => {
    const { clock, one, two, host } = await pairOf(t, makeNetwork);
    host.isHolding = true;
    const [short, long] = [100, 1800].map((waitMs) => one.ask(two.self, questions.wake, waitMs));
    assert.ok(short && long);
    await host.askedTimes(2);
    clock.advance(99);
    assert.ok(await isOpen(short));
    clock.advance(1 + lateMsMax);
    assert.deepEqual(await short, fail('unanswered'));
    assert.ok(await isOpen(long));
    clock.advance(1700);
    assert.deepEqual(await long, fail('unanswered'));
  });

  test(`${name}: a late answer is dropped`, async (t) => {
    const { clock, one, two, host } = await pairOf(t, makeNetwork);
    host.isHolding = true;
    const late = one.ask(two.self, questions.disconnect, 100);
    await host.askedTimes(1);
    clock.advance(100 + lateMsMax);
    assert.deepEqual(await late, fail('unanswered'));
    const other = one.ask(two.self, questions.disconnect, 1000);
    await host.askedTimes(2);
    host.answerHeld(0, true);
    host.answerHeld(1, false);
    assert.deepEqual(await other, succeed(false));
  });

  test(`${name}: answers arrive in any order, and both members can ask at once`, async (t) => {
    const { one, two, host, ownHost } = await pairOf(t, makeNetwork);
    host.isHolding = true;
    const first = one.ask(two.self, questions.write, 1000);
    const second = one.ask(two.self, questions.write, 1000);
    await host.askedTimes(2);
    assert.deepEqual(await two.ask(one.self, questions.disconnect, 1000), succeed(true));
    assert.deepEqual(ownHost.asked, [questions.disconnect]);
    host.answerHeld(1, 'busy');
    assert.deepEqual(await second, succeed('busy'));
    host.answerHeld(0, 'written');
    assert.deepEqual(await first, succeed('written'));
  });

  test(`${name}: a hanging member does not block questions to another one`, async (t) => {
    const { network, one, two, host } = await pairOf(t, makeNetwork);
    const three = await network.join(new ScriptedHost());
    host.isHolding = true;
    const hung = one.ask(two.self, questions.disconnect, 1000);
    await host.askedTimes(1);
    assert.deepEqual(await one.ask(three.self, questions.disconnect, 1000), succeed(true));
    assert.ok(await isOpen(hung));
  });

  test(`${name}: notices arrive unchanged, in order and with their sender`, async (t) => {
    const { one, two, host } = await pairOf(t, makeNetwork);
    const many: PeerNotice[] = Array.from({ length: 50 }, () => notices).flat();
    for (const notice of many) one.notify(two.self, notice);
    await host.receivedNotices(many.length);
    assert.deepEqual(
      host.notices,
      many.map((notice) => ({ notice, from: one.self })),
    );
  });

  test(`${name}: a broadcast reaches all other members`, async (t) => {
    const { network, one, host, ownHost } = await pairOf(t, makeNetwork);
    const third = new ScriptedHost();
    const three = await network.join(third);
    one.notify('everybody', oneNotice);
    await Promise.all([host.receivedNotices(1), third.receivedNotices(1)]);
    three.notify('everybody', otherNotice);
    await Promise.all([host.receivedNotices(2), ownHost.receivedNotices(1)]);
    const words = [ownHost, host, third].map((each) => each.notices.map(({ notice }) => notice.kind));
    assert.deepEqual(words, [[otherNotice.kind], [oneNotice.kind, otherNotice.kind], [oneNotice.kind]]);
  });

  test(`${name}: a notice to an absent member reaches no member`, async (t) => {
    const { one, two, host } = await pairOf(t, makeNetwork);
    one.notify('node-9/9@never' as MemberId, oneNotice);
    one.notify(two.self, otherNotice);
    await host.receivedNotices(1);
    assert.deepEqual(host.notices, [{ notice: otherNotice, from: one.self }]);
  });

  test(`${name}: an oversized message is not sent, and later ones are`, async (t) => {
    const { one, two, host } = await pairOf(t, makeNetwork);
    const order = signedOrder({ room: { ...callRoom, payload: 'x'.repeat(peerMessageBytesMax) } });
    assert.deepEqual(await one.ask(two.self, { kind: 'issue-call', order }, 1000), fail('unsent'));
    assert.deepEqual(await one.ask(two.self, questions.disconnect, 1000), succeed(true));
    assert.deepEqual(host.asked, [questions.disconnect]);
  });

  test(`${name}: a question beyond the maximum of open ones is not sent`, async (t) => {
    const { clock, one, two, host } = await pairOf(t, makeNetwork);
    host.isHolding = true;
    const asks = Array.from({ length: peerQuestionsMax }, () => one.ask(two.self, questions.wakeups, 1000));
    assert.deepEqual(await one.ask(two.self, questions.wakeups, 1000), fail('unsent'));
    await host.askedTimes(1);
    clock.advance(1000 + lateMsMax);
    const outcomes = await Promise.all(asks);
    assert.ok(outcomes.every((outcome) => !outcome.ok && outcome.error === 'unanswered'));
    host.isHolding = false;
    assert.deepEqual(await one.ask(two.self, questions.disconnect, 1000), succeed(true));
  });

  test(`${name}: a member that ends resolves all open questions, and asks no more`, async (t) => {
    const { network, one, two, host } = await pairOf(t, makeNetwork);
    host.isHolding = true;
    const ask = one.ask(two.self, questions.disconnect, 1000);
    await host.askedTimes(1);
    await network.end(one);
    assert.deepEqual(await ask, fail('unanswered'));
    assert.deepEqual(await one.ask(two.self, questions.disconnect, 1000), fail('nobody'));
    one.notify('everybody', oneNotice);
    assert.equal(host.asked.length, 1);
  });
}
