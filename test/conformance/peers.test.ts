import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, succeed } from '../../src/lib/result.ts';
import type { MemberId } from '../../src/model/cluster.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeNetwork, type FakePeers, type PeerFault } from '../support/fake-peers.ts';
import { memberOne, memberTwo, questions } from '../support/peer-messages.ts';
import { ScriptedHost } from '../support/scripted-host.ts';
import { peersConformance, type PeersNetwork } from './peers.ts';

function standIns(): PeersNetwork {
  const clock = new DrivenClock();
  const network = new FakeNetwork(clock);
  let made = 0;
  return {
    clock,
    join: (host) => Promise.resolve(network.join(`node-1/${(made += 1)}@life` as MemberId, host)),
    end(peers) {
      (peers as FakePeers).close();
      return Promise.resolve();
    },
  };
}

peersConformance('stand-ins', standIns);

interface Fault {
  readonly fault: PeerFault;
  /** What becomes of a question that is given 1 s, and after how long. */
  readonly outcome: unknown;
  readonly afterMs: number;
  /** Whether the member has it by then. */
  readonly isDone: boolean;
}

const faults: readonly Fault[] = [
  { fault: 'dead', outcome: fail('nobody'), afterMs: 0, isDone: false },
  { fault: 'unwakeable', outcome: fail('nobody'), afterMs: 0, isDone: false },
  { fault: 'unreachable', outcome: fail('unsent'), afterMs: 1010, isDone: false },
  { fault: 'stopped', outcome: fail('unanswered'), afterMs: 1010, isDone: false },
  { fault: 'cut', outcome: fail('unanswered'), afterMs: 0, isDone: true },
  { fault: { slowMs: 400 }, outcome: succeed(true), afterMs: 400, isDone: true },
];

for (const { fault, outcome, afterMs, isDone } of faults)
  test(`a stand-in that is ${JSON.stringify(fault)} answers as such a member does`, async () => {
    const clock = new DrivenClock();
    const network = new FakeNetwork(clock);
    const host = new ScriptedHost();
    const one = network.join(memberOne, new ScriptedHost());
    network.join(memberTwo, host);
    network.fault(memberTwo, fault);
    assert.equal(one.isAlive(memberTwo), fault !== 'dead');
    const ask = one.ask(memberTwo, questions.disconnect, 1000);
    clock.advance(afterMs);
    assert.deepEqual(await ask, outcome);
    assert.equal(host.asked.length, isDone ? 1 : 0);
    network.fault(memberTwo, null);
    assert.equal(host.asked.length, isDone || fault === 'stopped' ? 1 : 0);
    assert.deepEqual(await one.ask(memberTwo, questions.disconnect, 1000), succeed(true));
  });

test('a stand-in that dies has perhaps done what it was asked', async () => {
  const network = new FakeNetwork(new DrivenClock());
  const host = new ScriptedHost();
  const one = network.join(memberOne, new ScriptedHost());
  network.join(memberTwo, host);
  host.isHolding = true;
  const ask = one.ask(memberTwo, questions.wake, 1000);
  await host.askedTimes(1);
  network.fault(memberTwo, 'dead');
  assert.deepEqual(await ask, fail('unanswered'));
});
