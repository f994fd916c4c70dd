/**
 * Which wakeups are known: by (application, X-Request-ID) for 24 h and by signature while its date is within the
 * clock window. A repeat of one under way joins it, a repeat of an accepted one is answered like it, and after
 * any other outcome it may be tried again: a second wake does no harm, a lost one does.
 *
 * What is kept where: wakeups under way and accepted signatures here, bounded, full means 42901; those that were
 * answered 202 or 50402 in the store, where the watch puts them (core/wakeups/wakeup-watch.ts); of the others only the
 * body's hash, so that a changed body is noticed, the oldest forgotten first. An id that the server made is not the
 * caller's to repeat. What other members tell of theirs is in accepted-elsewhere.ts.
 * Source: decisions.md, Repeats; tgv1-signing.md, Replay.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import { succeed } from '../../lib/result.ts';
import type { Refusal, WakeupCode } from '../../model/codes.ts';
import { refusedWakeupsKnownMax, wakeupKnownMs } from '../../model/limits.ts';
import type { WakeupReceipt, WakeupRecord, WakeupRequest } from '../../model/wakeup.ts';
import type { WakeupRecords } from '../ports/wakeup-records.ts';
import { AcceptedElsewhere, type WakeupAccepted } from './accepted-elsewhere.ts';
import { ExpiringKeys, signatureKey } from '../devices/expiring-keys.ts';

export type WakeupAnswer = Result<WakeupReceipt, Refusal<WakeupCode>>;

interface KnownWakeup {
  readonly bodySha256: string;
  /** A promise while it is under way. */
  answer: WakeupAnswer | Promise<WakeupAnswer>;
}

export class WakeupMemory {
  readonly #records: WakeupRecords;
  readonly #bySignature: ExpiringKeys<KnownWakeup>;
  readonly #underWay = new Map<string, KnownWakeup>();
  readonly #refused: LRUCache<string, string>;
  readonly #clock: Clock;
  readonly #signaturesMax: number;
  /** Made when another member first tells of one. */
  #elsewhere: AcceptedElsewhere | null = null;

  constructor(records: WakeupRecords, clock: Clock, signaturesMax: number) {
    this.#records = records;
    this.#clock = clock;
    this.#signaturesMax = signaturesMax;
    this.#bySignature = new ExpiringKeys(clock, signaturesMax);
    this.#refused = new LRUCache({
      max: refusedWakeupsKnownMax,
      ttl: wakeupKnownMs,
      perf: { now: () => clock.monotonicMs() },
    });
  }

  /** Room for one more; when false the answer is 42901, and nothing known is forgotten. */
  get isFull(): boolean {
    return this.#bySignature.isFull || this.#records.isFull();
  }

  /** The same X-Request-ID was used with other body bytes: 40003. */
  hasChangedBody(request: WakeupRequest): boolean {
    const known = this.#knownBody(request);
    return known !== null && known !== request.bodySha256;
  }

  /** The answer of the wakeup this one repeats, or null when it is to be done. Call after `hasChangedBody`. */
  repeated(request: WakeupRequest): WakeupAnswer | Promise<WakeupAnswer> | null {
    if (request.isCallersId) {
      const joined = this.#underWay.get(idKey(request));
      if (joined !== undefined) return joined.answer;
      const record = this.#ownRecord(request);
      if (record !== null && record.acceptedAtMs !== null)
        return succeed({ deviceId: record.deviceId, acceptedAtMs: record.acceptedAtMs });
    }
    const known = this.#bySignature.get(signatureKey(request.signature));
    if (known !== undefined) return known.answer;
    const elsewhere = this.#elsewhere?.find(request) ?? null;
    return elsewhere === null ? null : succeed(elsewhere);
  }

  /** Another member has accepted it: a repeat of it here is answered like it. */
  noteAccepted(accepted: WakeupAccepted): void {
    this.#elsewhere ??= new AcceptedElsewhere(this.#clock, this.#signaturesMax);
    this.#elsewhere.note(accepted);
  }

  /** From now on a repeat joins it; once it is answered it is kept or forgotten by its outcome. */
  begin(request: WakeupRequest, answer: Promise<WakeupAnswer>): void {
    const known: KnownWakeup = { bodySha256: request.bodySha256, answer };
    this.#bySignature.set(signatureKey(request.signature), known, request.signatureExpiresMs);
    if (request.isCallersId) this.#underWay.set(idKey(request), known);
    void answer.then(
      (settled) => this.#settle(request, known, settled),
      () => this.#forget(request),
    );
  }

  /** It was refused before anything was written. */
  noteRefused(request: WakeupRequest): void {
    if (request.isCallersId) this.#refused.set(idKey(request), request.bodySha256);
  }

  #settle(request: WakeupRequest, known: KnownWakeup, answer: WakeupAnswer): void {
    if (!answer.ok) return this.#forget(request);
    known.answer = answer;
    if (request.isCallersId) this.#underWay.delete(idKey(request));
  }

  /** It may be tried again; its X-Request-ID belongs to this body all the same. */
  #forget(request: WakeupRequest): void {
    if (request.isCallersId) this.#underWay.delete(idKey(request));
    this.#bySignature.delete(signatureKey(request.signature));
    this.noteRefused(request);
  }

  #knownBody(request: WakeupRequest): string | null {
    if (!request.isCallersId) return null;
    const key = idKey(request);
    return (
      this.#underWay.get(key)?.bodySha256 ??
      this.#ownRecord(request)?.bodySha256 ??
      this.#elsewhere?.bodyOf(request) ??
      this.#refused.get(key) ??
      null
    );
  }

  /** What is kept under the caller's own id. */
  #ownRecord({ appId, requestId }: WakeupRequest): WakeupRecord | null {
    const record = this.#records.find(appId, requestId);
    return record?.isCallersId === true ? record : null;
  }
}

/** A request id is printable ASCII, so the first line feed ends it. */
function idKey(request: WakeupRequest): string {
  return `${request.requestId}\n${request.appId}`;
}
