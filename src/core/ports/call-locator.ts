/** Locates the member that coordinates a device's calls, and asks it. Source: cluster.md, Media. */
import { fail, type Result } from '../../lib/result.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { PeerFailure } from '../../model/peer.ts';
import type { PeerAnswer, PeerQuestion } from '../../protocol/cluster/peer-message.ts';

/** `unavailable`: the member is unknown or dead. */
export type CallCoordinator = 'here' | 'unavailable' | MemberId;

export interface CallLocator {
  /** The member that issues the device's next call. Never rejects. */
  issuerOf(deviceId: DeviceId): CallCoordinator | Promise<CallCoordinator>;
  /** The member that has the device's calls. Never rejects. */
  locate(deviceId: DeviceId): CallCoordinator | Promise<CallCoordinator>;
  /** Settles within `waitMs`; never rejects. */
  ask<Kind extends 'issue-call' | 'end-call' | 'reject-call'>(
    member: MemberId,
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>>;
  /**
   * True: the device is in a call at another member. `false` at once where this store has all calls. Rejects when the answer is
   * unknown.
   */
  isInCallElsewhere(deviceId: DeviceId): boolean | Promise<boolean>;
  /** Finds a call at another member; null: none has it. Never rejects. */
  findElsewhere(sessionId: SessionId): Promise<PeerAnswer<'find-call'>>;
}

export const callsHere: CallLocator = {
  issuerOf: () => 'here',
  locate: () => 'here',
  ask: async () => fail('nobody'),
  isInCallElsewhere: () => false,
  findElsewhere: async () => null,
};
