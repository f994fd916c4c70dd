/** What several writes of one wakeup come to. Source: decisions.md, Wakeup. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fail, succeed } from '../../../../src/lib/outcome.ts';
import type { MemberId, Seat } from '../../../../src/model/cluster.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import type { PeerFailure } from '../../../../src/model/peer.ts';
import type { WakeWriteResult } from '../../../../src/model/sleep.ts';
import type { Peers } from '../../../../src/core/ports/peers.ts';
import { writeEverywhere, type SeatWrite } from '../../../../src/core/wakeups/write-everywhere.ts';
import { FakeConnection, testDevice } from '../../../support/fakes.ts';

const wakeup = { deviceId: testDevice, customData: null };
const here: readonly (WakeWriteResult | 'deaf')[] = ['written', 'unknown', 'refused', 'busy', 'deaf'];
const elsewhere: readonly (SeatWrite | PeerFailure)[] = [...here, 'absent', 'nobody', 'unsent', 'unanswered'];

function seat(place: number): Seat {
  const member = `n${place}/0@m` as MemberId;
  return { member, node: `n${place}`, session: `s${place}` as SessionId, epoch: place, loginAtMs: 0 };
}

/** Other members, each with what it says, by its place. */
function peersThat(say: readonly (SeatWrite | PeerFailure)[]): Peers {
  const answer = (member: MemberId): SeatWrite | PeerFailure => say[Number(member[1])] ?? 'nobody';
  return {
    self: 'self/0@m' as MemberId,
    alive: () => [],
    isAlive: () => true,
    ask: (member) => {
      const said = answer(member);
      const isFailure = said === 'nobody' || said === 'unsent' || said === 'unanswered';
      return Promise.resolve(isFailure ? fail(said) : succeed(said as never));
    },
    tell: () => undefined,
  };
}

/** By the words of the specification: any good write, else any unknown, else any failed, else none was possible. */
function expected(writes: readonly (SeatWrite | PeerFailure)[]): SeatWrite {
  if (writes.includes('written')) return 'written';
  if (writes.includes('unknown') || writes.includes('unanswered')) return 'unknown';
  if (['refused', 'nobody', 'unsent'].some((failed) => writes.includes(failed as SeatWrite)))
    return 'refused';
  if (writes.includes('busy')) return 'busy';
  return writes.includes('deaf') ? 'deaf' : 'absent';
}

test('every combination of what three sessions answer comes to what the table says', async () => {
  for (const own of here)
    for (const second of elsewhere)
      for (const third of elsewhere) {
        const connection = own === 'deaf' ? null : Object.assign(new FakeConnection(), { immediately: own });
        const result = await writeEverywhere(peersThat([second, third]), wakeup, connection, [
          seat(0),
          seat(1),
        ]);
        assert.equal(result, expected([own, second, third]), `${own}, ${second}, ${third}`);
      }
});

test('the first good write is the answer, however long the others take', async () => {
  const connection = Object.assign(new FakeConnection(), { immediately: null });
  assert.equal(await writeEverywhere(peersThat(['written']), wakeup, connection, [seat(0)]), 'written');
  assert.equal(connection.wakes.length, 1);
});
