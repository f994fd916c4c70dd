/** Other members, with every question to them counted and timed. Source: cluster.md. */
import type { Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { PeerAnswer, PeerFailure, PeerKind, PeerNotice, PeerQuestion } from '../../model/peer.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';

interface MeasuredDeps {
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'peerAsk' | 'peerAnswerTime'>;
}

export class MeasuredPeers implements Peers {
  readonly #peers: Peers;
  readonly #deps: MeasuredDeps;

  constructor(peers: Peers, deps: MeasuredDeps) {
    this.#peers = peers;
    this.#deps = deps;
  }

  get self(): MemberId {
    return this.#peers.self;
  }

  alive(): readonly MemberId[] {
    return this.#peers.alive();
  }

  isAlive(member: MemberId): boolean {
    return this.#peers.isAlive(member);
  }

  async ask<Kind extends PeerKind>(
    member: MemberId,
    question: PeerQuestion<Kind>,
    waitMs: number,
  ): Promise<Result<PeerAnswer<Kind>, PeerFailure>> {
    const { clock, telemetry } = this.#deps;
    const askedMs = clock.monotonicMs();
    const asked = await this.#peers.ask<Kind>(member, question, waitMs);
    telemetry.peerAsk(asked.ok ? 'answered' : asked.error);
    if (asked.ok) telemetry.peerAnswerTime((clock.monotonicMs() - askedMs) / 1000);
    return asked;
  }

  notify(to: MemberId | 'everybody', notice: PeerNotice): void {
    this.#peers.notify(to, notice);
  }
}
