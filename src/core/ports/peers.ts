/**
 * The other members of the cluster, which are reached over NATS. Plain values cross: what is asked and told is checked where
 * it arrives. Source: cluster.md.
 */
import { fail, type Result } from '../../lib/result.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { PeerAnswer, PeerFailure, PeerKind, PeerNotice, PeerQuestion } from '../../model/peer.ts';

export interface Peers {
  readonly self: MemberId;
  /** Members whose lease lives, this one among them. */
  alive(): readonly MemberId[];
  isAlive(member: MemberId): boolean;
  /** Of another member. Settles within `waitMs` and never rejects; a member that is not alive is `nobody` at once. */
  ask<Kind extends PeerKind>(
    member: MemberId,
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>>;
  /** Best effort, in order for each receiver. `everybody`: all but this one. Never throws. */
  notify(to: MemberId | 'everybody', notice: PeerNotice): void;
}

/** The members that are alive, but for this one. */
export function othersAlive(peers: Pick<Peers, 'self' | 'alive'>): readonly MemberId[] {
  return peers.alive().filter((member) => member !== peers.self);
}

const self = '' as MemberId;
const alone = [self];

/** Those of a member that is alone. */
export const noPeers: Peers = {
  self,
  alive: () => alone,
  isAlive: () => false,
  ask: async () => fail('nobody'),
  notify: () => undefined,
};

/** What a member does with what it is asked and told. */
export interface PeerHost {
  /** Never rejects. */
  answer<Kind extends PeerKind>(question: PeerQuestion<Kind>): Promise<PeerAnswer<Kind>>;
  /** Never throws. */
  heard(notice: PeerNotice, from: MemberId): void;
}
