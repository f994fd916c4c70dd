/**
 * Wakeups that other members have accepted, as far as this one was notified: by signature while its date is within the
 * clock window, by the caller's own id for 24 h. Bounded: what comes beyond is not taken in, or pushes out the oldest,
 * and a repeat of it may be done again, which does no harm. Source: decisions.md, Repeats; cluster.md.
 */
import type { Clock } from '../../lib/clock.ts';
import { wakeupKey } from '../../model/ids.ts';
import { acceptedElsewhereMax, wakeupKnownMs } from '../../model/limits.ts';
import type { PeerNotice } from '../../model/peer.ts';
import type { WakeupReceipt, WakeupRequest } from '../../model/wakeup.ts';
import { ExpiringKeys, signatureKey } from '../messages/answer-memory.ts';

export type WakeupAccepted = Extract<PeerNotice, { kind: 'wakeup-accepted' }>;

interface Accepted {
  readonly bodySha256: string;
  readonly receipt: WakeupReceipt;
  /** Monotonic milliseconds after which it is not known any more. */
  readonly knownUntilMs: number;
}

type Named = Pick<WakeupRequest, 'appId' | 'requestId' | 'isCallersId'>;

export class AcceptedElsewhere {
  readonly #bySignature: ExpiringKeys<WakeupReceipt>;
  readonly #clock: Clock;
  readonly #idsMax: number;
  /** Oldest first. */
  readonly #byId = new Map<string, Accepted>();

  constructor(clock: Clock, signaturesMax: number, idsMax: number = acceptedElsewhereMax) {
    this.#clock = clock;
    this.#idsMax = idsMax;
    this.#bySignature = new ExpiringKeys(clock, signaturesMax);
  }

  note(accepted: WakeupAccepted): void {
    const { signature, signatureExpiresMs, receipt } = accepted;
    if (!this.#bySignature.isFull)
      this.#bySignature.set(signatureKey(signature), receipt, signatureExpiresMs);
    if (accepted.isCallersId) this.#name(accepted);
  }

  find(request: WakeupRequest): WakeupReceipt | null {
    const known = this.#bySignature.get(signatureKey(request.signature)) ?? this.#named(request)?.receipt;
    return known ?? null;
  }

  /** The body that the caller's own id belongs to, or null. */
  bodyOf(request: WakeupRequest): string | null {
    return this.#named(request)?.bodySha256 ?? null;
  }

  #name(accepted: WakeupAccepted): void {
    const { bodySha256, receipt } = accepted;
    const key = wakeupKey(accepted.appId, accepted.requestId);
    this.#byId.delete(key);
    this.#byId.set(key, { bodySha256, receipt, knownUntilMs: this.#clock.monotonicMs() + wakeupKnownMs });
    if (this.#byId.size <= this.#idsMax) return;
    for (const oldest of this.#byId.keys()) {
      this.#byId.delete(oldest);
      return;
    }
  }

  #named(request: Named): Accepted | null {
    const known = request.isCallersId
      ? this.#byId.get(wakeupKey(request.appId, request.requestId))
      : undefined;
    return known !== undefined && this.#clock.monotonicMs() < known.knownUntilMs ? known : null;
  }
}
