/**
 * The other members of the cluster, reached over NATS. Plain values cross, and the receiver validates questions and notices.
 * Source: cluster.md.
 */
import { fail, type Result } from '../../lib/result.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { PeerFailure } from '../../model/peer.ts';
import type { PeerAnswer, PeerKind, PeerNotice, PeerQuestion } from '../../protocol/cluster/peer-message.ts';

export interface Peers {
  readonly self: MemberId;
  /** Members with a live lease, including this one. */
  alive(): readonly MemberId[];
  isAlive(member: MemberId): boolean;
  /** Asks another member. Settles within `waitMs` and never rejects; a member without a lease is `nobody` at once. */
  ask<Kind extends PeerKind>(
    member: MemberId,
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>>;
  /** Best effort, in order per receiver. `everybody`: all other members. Never throws. */
  notify(to: MemberId | 'everybody', notice: PeerNotice): void;
}

export function othersAlive(peers: Pick<Peers, 'self' | 'alive'>): readonly MemberId[] {
  return peers.alive().filter((member) => member !== peers.self);
}

const self = '' as MemberId;
const alone = [self];

export const noPeers: Peers = {
  self,
  alive: () => alone,
  isAlive: () => false,
  ask: async () => fail('nobody'),
  notify: () => undefined,
};

export interface PeerHost {
  /** Never rejects. */
  answer<Kind extends PeerKind>(question: PeerQuestion<Kind>): Promise<PeerAnswer<Kind>>;
  /** Never throws. */
  receive(notice: PeerNotice, from: MemberId): void;
}
