/** The combined result of several writes of one wakeup. Source: decisions.md, Wakeup. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, succeed } from '../../../../src/lib/result.ts';
import type { MemberId, SessionSlot } from '../../../../src/model/cluster.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import type { PeerFailure } from '../../../../src/model/peer.ts';
import type { WakeWriteResult } from '../../../../src/model/sleep.ts';
import type { Peers } from '../../../../src/core/ports/peers.ts';
import { writeEverywhere, type SlotWrite } from '../../../../src/core/wakeups/write-everywhere.ts';
import { FakeConnection, testDevice } from '../../../support/fakes.ts';

const wakeup = { deviceId: testDevice, customData: null };
const here: readonly (WakeWriteResult | 'unwakeable')[] = [
  'written',
  'unknown',
  'refused',
  'unreachable',
  'busy',
  'unwakeable',
];
const elsewhere: readonly (SlotWrite | PeerFailure)[] = [...here, 'absent', 'nobody', 'unsent', 'unanswered'];

function slot(place: number): SessionSlot {
  const member = `n${place}/0@m` as MemberId;
  return { member, node: `n${place}`, session: `s${place}` as SessionId, epoch: place, loginAtMs: 0 };
}

/** Other members with their answers, by index. */
function peersThat(say: readonly (SlotWrite | PeerFailure)[]): Peers {
  const answer = (member: MemberId): SlotWrite | PeerFailure => say[Number(member[1])] ?? 'nobody';
  return {
    self: 'self/0@m' as MemberId,
    alive: () => [],
    isAlive: () => true,
    ask: (member) => {
      const said = answer(member);
      const isFailure = said === 'nobody' || said === 'unsent' || said === 'unanswered';
      return Promise.resolve(isFailure ? fail(said) : succeed(said as never));
    },
    notify: () => undefined,
  };
}

/** As specified: any success, else any unknown, else any failure, else none was possible. */
function expected(writes: readonly (SlotWrite | PeerFailure)[]): SlotWrite {
  if (writes.includes('written')) return 'written';
  if (writes.includes('unknown') || writes.includes('unanswered')) return 'unknown';
  if (['refused', 'nobody', 'unsent'].some((failed) => writes.includes(failed as SlotWrite)))
    return 'refused';
  if (writes.includes('unreachable')) return 'unreachable';
  if (writes.includes('busy')) return 'busy';
  return writes.includes('unwakeable') ? 'unwakeable' : 'absent';
}

test('each combination of three results yields the outcome of the table', async () => {
  for (const own of here)
    for (const second of elsewhere)
      for (const third of elsewhere) {
        const connection =
          own === 'unwakeable' ? null : Object.assign(new FakeConnection(), { immediately: own });
        const result = await writeEverywhere(peersThat([second, third]), wakeup, connection, [
          slot(0),
          slot(1),
        ]);
        assert.equal(result, expected([own, second, third]), `${own}, ${second}, ${third}`);
      }
});

test('the first good write is the answer, however long the others take', async () => {
  const connection = Object.assign(new FakeConnection(), { immediately: null });
  assert.equal(await writeEverywhere(peersThat(['written']), wakeup, connection, [slot(0)]), 'written');
  assert.equal(connection.wakes.length, 1);
});
