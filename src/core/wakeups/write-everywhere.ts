/**
 * Writes one wakeup to all sessions of a device that sleeps at several members: on the local connection, and through the members of
 * the others. Source: decisions.md, Wakeup.
 */
import type { SessionSlot } from '../../model/cluster.ts';
import { peerWriteMsMax } from '../../model/limits.ts';
import type { PeerAnswer } from '../../protocol/cluster/peer-message.ts';
import type { CustomData } from '../../model/sleep.ts';
import type { WakeupRequest } from '../../model/wakeup.ts';
import type { Peers } from '../ports/peers.ts';
import type { SleepConnection } from '../ports/device-sessions.ts';

export type SlotWrite = PeerAnswer<'write'>;

/** Results by priority: one success is enough, and an uncertain write outranks a failed one. */
const rank: readonly SlotWrite[] = [
  'written',
  'unknown',
  'refused',
  'unreachable',
  'busy',
  'unwakeable',
  'absent',
];

/** `own` null: the local module does not support this packet. Resolves with the first success, else once all have answered. */
export function writeEverywhere(
  peers: Peers,
  { deviceId, customData }: Pick<WakeupRequest, 'deviceId' | 'customData'>,
  own: SleepConnection | null,
  slots: readonly SessionSlot[],
): Promise<SlotWrite> {
  const here = own === null ? Promise.resolve<SlotWrite>('unwakeable') : own.wake(customData);
  const elsewhere = slots.map((slot) => writeAt(peers, slot, deviceId, customData));
  return bestOf([here, ...elsewhere]);
}

async function writeAt(
  peers: Peers,
  { member, session }: SessionSlot,
  deviceId: WakeupRequest['deviceId'],
  customData: CustomData,
): Promise<SlotWrite> {
  const question = { kind: 'write', deviceId, session, customData } as const;
  const asked = await peers.ask<'write'>(member, question, peerWriteMsMax);
  if (asked.ok) return asked.value;
  return asked.error === 'unanswered' ? 'unknown' : 'refused';
}

function bestOf(writes: readonly Promise<SlotWrite>[]): Promise<SlotWrite> {
  return new Promise((resolve, reject) => {
    let best = rank.length;
    let pending = writes.length;
    for (const write of writes)
      write.then((result) => {
        best = Math.min(best, rank.indexOf(result));
        pending -= 1;
        if (best === 0 || pending === 0) resolve(rank[best] ?? 'absent');
      }, reject);
  });
}
