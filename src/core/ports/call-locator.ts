/** The member that has a device's calls, and what it is asked. Source: cluster.md, Media. */
import { fail, type Result } from '../../lib/result.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { PeerAnswer, PeerFailure, PeerQuestion } from '../../model/peer.ts';

/** `unavailable`: the member is not known, or it is gone. */
export type CallCoordinator = 'here' | 'unavailable' | MemberId;

export interface CallLocator {
  /** The member to issue the device's next call. Never rejects. */
  issuerOf(deviceId: DeviceId): CallCoordinator | Promise<CallCoordinator>;
  /** The member to ask about a call of the device. Never rejects. */
  locate(deviceId: DeviceId): CallCoordinator | Promise<CallCoordinator>;
  /** Never rejects; within `waitMs`. */
  ask<Kind extends 'issue-call' | 'end-call' | 'reject-call'>(
    member: MemberId,
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>>;
  /** The device is in a call at another member: `false` at once where this store has all calls. Rejects when it is not known. */
  isInCallElsewhere(deviceId: DeviceId): boolean | Promise<boolean>;
  /** A call that is not here; null: no other member has it. Never rejects. */
  findElsewhere(sessionId: SessionId): Promise<PeerAnswer<'find-call'>>;
}

/** The locator of a member that has every call itself. */
export const callsHere: CallLocator = {
  issuerOf: () => 'here',
  locate: () => 'here',
  ask: async () => fail('nobody'),
  isInCallElsewhere: () => false,
  findElsewhere: async () => null,
};
