/**
 * Questions to the members that have the sessions of devices. Questions of one moment, about the devices of a batch, are merged
 * into one per member. Source: cluster.md, Record and the failure table.
 */
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { batchDevicesMax, ownerQueryMsMax } from '../../model/limits.ts';
import type { DeviceHeartbeats } from '../../protocol/cluster/peer-message.ts';
import type { Peers } from '../ports/peers.ts';

/** Heartbeats of the member's sessions, one entry per device. Empty: no answer within `waitMs`. Never rejects. */
export async function askForHeartbeats(
  peers: Peers,
  member: MemberId,
  deviceIds: readonly DeviceId[],
  waitMs = ownerQueryMsMax,
): Promise<readonly DeviceHeartbeats[]> {
  const answer = await peers.ask<'heartbeats'>(member, { kind: 'heartbeats', deviceIds }, waitMs);
  return answer.ok ? answer.value : [];
}

interface Question {
  readonly deviceIds: DeviceId[];
  readonly answers: Promise<readonly DeviceHeartbeats[]>;
}

export class OwnerQuestions {
  readonly #peers: Peers;
  /** Merged questions, sent once the callbacks of this moment have run. */
  readonly #gathered = new Map<MemberId, Question>();

  constructor(peers: Peers) {
    this.#peers = peers;
  }

  /** Null: no answer within `ownerQueryMsMax`. Never rejects. */
  async ask(member: MemberId, deviceId: DeviceId): Promise<DeviceHeartbeats | null> {
    const { deviceIds, answers } = this.#questionTo(member);
    const place = deviceIds.push(deviceId) - 1;
    return (await answers)[place] ?? null;
  }

  #questionTo(member: MemberId): Question {
    const gathered = this.#gathered.get(member);
    if (gathered !== undefined && gathered.deviceIds.length < batchDevicesMax) return gathered;
    const deviceIds: DeviceId[] = [];
    const question = { deviceIds, answers: this.#send(member, deviceIds) };
    this.#gathered.set(member, question);
    return question;
  }

  async #send(member: MemberId, deviceIds: readonly DeviceId[]): Promise<readonly DeviceHeartbeats[]> {
    await Promise.resolve();
    if (this.#gathered.get(member)?.deviceIds === deviceIds) this.#gathered.delete(member);
    return askForHeartbeats(this.#peers, member, deviceIds);
  }
}
