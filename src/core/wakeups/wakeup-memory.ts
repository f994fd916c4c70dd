/**
 * The wakeups that are known: by (application, X-Request-ID) for 24 h and by signature while its date is within the
 * clock window. A repeat of one under way joins it, a repeat of an accepted one is answered like it, and after
 * any other outcome it may be tried again: a second wake does no harm, a lost one does.
 *
 * What is kept where: wakeups under way and accepted signatures here, bounded, full means 42901; those that were
 * answered 202 or 50402 in the store, where the watch puts them (core/wakeups/wakeup-watch.ts); of the others only the
 * body's hash, so that a changed body is noticed, the oldest forgotten first. An id that the server made is not the
 * caller's to repeat. The ones accepted by other members are in accepted-elsewhere.ts.
 * Source: decisions.md, Repeats; tgv1-signing.md, Replay.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.ts';
import { type Result, succeed } from '../../lib/result.ts';
import type { Refusal, WakeupCode } from '../../model/codes.ts';
import { refusedWakeupsKnownMax, wakeupKnownMs } from '../../model/limits.ts';
import { wakeupKey } from '../../model/ids.ts';
import type { WakeupReceipt, WakeupRecord, WakeupRequest } from '../../model/wakeup.ts';
import type { WakeupRecords } from '../ports/wakeup-records.ts';
import { AcceptedElsewhere, type WakeupAccepted } from './accepted-elsewhere.ts';
import { ExpiringKeys, signatureKey } from '../messages/answer-memory.ts';

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
  /** Made at the first notice of another member. */
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

  /**
   * The answer of the wakeup this one repeats, or null when it is to be done. `changed-body`: the same X-Request-ID was used
   * with other body bytes (40003). Looks everywhere once.
   */
  find(request: WakeupRequest): WakeupAnswer | Promise<WakeupAnswer> | 'changed-body' | null {
    if (!request.isCallersId) return this.#signed(request);
    const key = wakeupKey(request.appId, request.requestId);
    const joined = this.#underWay.get(key) ?? null;
    const record = joined === null ? this.#ownRecord(request) : null;
    const bodySha256 =
      joined?.bodySha256 ??
      record?.bodySha256 ??
      this.#elsewhere?.bodyOf(request) ??
      this.#refused.get(key) ??
      request.bodySha256;
    return bodySha256 === request.bodySha256 ? this.#answerOf(request, joined, record) : 'changed-body';
  }

  /** The same of a wakeup whose body was compared before it was waited for. */
  repeated(request: WakeupRequest): WakeupAnswer | Promise<WakeupAnswer> | null {
    if (!request.isCallersId) return this.#signed(request);
    const joined = this.#underWay.get(wakeupKey(request.appId, request.requestId)) ?? null;
    return this.#answerOf(request, joined, joined === null ? this.#ownRecord(request) : null);
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
    if (request.isCallersId) this.#underWay.set(wakeupKey(request.appId, request.requestId), known);
    void answer.then(
      (settled) => this.#settle(request, known, settled),
      () => this.#forget(request),
    );
  }

  /** It was refused before anything was written. */
  noteRefused(request: WakeupRequest): void {
    if (request.isCallersId)
      this.#refused.set(wakeupKey(request.appId, request.requestId), request.bodySha256);
  }

  #settle(request: WakeupRequest, known: KnownWakeup, answer: WakeupAnswer): void {
    if (!answer.ok) return this.#forget(request);
    known.answer = answer;
    if (request.isCallersId) this.#underWay.delete(wakeupKey(request.appId, request.requestId));
  }

  /** It may be tried again; its X-Request-ID belongs to this body all the same. */
  #forget(request: WakeupRequest): void {
    if (request.isCallersId) this.#underWay.delete(wakeupKey(request.appId, request.requestId));
    this.#bySignature.delete(signatureKey(request.signature));
    this.noteRefused(request);
  }

  #answerOf(
    request: WakeupRequest,
    joined: KnownWakeup | null,
    record: WakeupRecord | null,
  ): WakeupAnswer | Promise<WakeupAnswer> | null {
    if (joined !== null) return joined.answer;
    if (record !== null && record.acceptedAtMs !== null)
      return succeed({ deviceId: record.deviceId, acceptedAtMs: record.acceptedAtMs });
    return this.#signed(request);
  }

  #signed(request: WakeupRequest): WakeupAnswer | Promise<WakeupAnswer> | null {
    const known = this.#bySignature.get(signatureKey(request.signature));
    if (known !== undefined) return known.answer;
    const elsewhere = this.#elsewhere?.find(request) ?? null;
    return elsewhere === null ? null : succeed(elsewhere);
  }

  /** What is kept under the caller's own id. */
  #ownRecord({ appId, requestId }: WakeupRequest): WakeupRecord | null {
    const record = this.#records.find(appId, requestId);
    return record?.isCallersId === true ? record : null;
  }
}
