/**
 * The wakeups that are known by their signatures, while the date of each is within the clock window: a repeat of one under
 * way joins it, a repeat of an accepted one is answered like it, and after any other outcome it is tried again, because a
 * second wake does no harm and a lost one does. A signature is made with an application's key, so it is of one application.
 * An X-Request-ID says nothing here: each accepted wakeup is a write of its own, whatever it is called.
 *
 * Bounded: full of this member's own means 42901, and nothing known is forgotten. Those that other members have accepted have
 * as much room again; what comes beyond is not taken in, and a repeat of it is answered by the member that has the device.
 * Source: decisions.md, Wakeup; tgv1-signing.md, Replay.
 */
import type { Clock } from '../../lib/clock.ts';
import { type Result, succeed } from '../../lib/result.ts';
import type { Refusal, WakeupCode } from '../../model/codes.ts';
import type { AcceptedWakeup } from '../../model/peer.ts';
import type { SignedRequest } from '../../model/signed-request.ts';
import { aliasRecord } from '../../model/state/wakeup-save.ts';
import {
  wakeupAliasesMax,
  type RepeatableWakeup,
  type RepeatMark,
  type WakeupReceipt,
  type WakeupRequest,
} from '../../model/wakeup.ts';
import type { WakeupRecords } from '../ports/records.ts';
import { AnswerMemory } from '../messages/answer-memory.ts';

export type WakeupAnswer = Result<WakeupReceipt, Refusal<WakeupCode>> &
  RepeatMark & {
    /** Absent: it was refused before its write. */
    readonly wakeup?: RepeatableWakeup;
  };

export class WakeupMemory extends AnswerMemory<WakeupAnswer> {
  readonly #records: Pick<WakeupRecords, 'isFull' | 'save'>;
  readonly #clock: Clock;
  readonly #elsewhere: AnswerMemory<WakeupAnswer>;

  constructor(records: Pick<WakeupRecords, 'isFull' | 'save'>, clock: Clock, signaturesMax: number) {
    super(clock, signaturesMax, isAccepted);
    this.#records = records;
    this.#clock = clock;
    this.#elsewhere = new AnswerMemory(clock, signaturesMax, isAccepted);
  }

  /** False: the answer is 42901, because this memory or the records are full, or a later signature is already forgotten. */
  override hasRoomFor(request: SignedRequest): boolean {
    return super.hasRoomFor(request) && !this.#records.isFull();
  }

  override repeated(request: SignedRequest): WakeupAnswer | Promise<WakeupAnswer> | null {
    return super.repeated(request) ?? this.#elsewhere.repeated(request);
  }

  /** Another member has accepted it: a repeat of it here is answered like it. */
  noteAccepted({ receipt, wakeup, ...request }: AcceptedWakeup): void {
    if (!this.#elsewhere.hasRoomFor(request)) return;
    this.#elsewhere.keep(request, { ...succeed(receipt), wakeup });
  }

  /** The answer to a repeat, by whose request id the outcome is found from now on. */
  answerRepeat(request: WakeupRequest, first: WakeupAnswer): WakeupAnswer {
    const { wakeup, ...answer } = first;
    if (wakeup === undefined) return answer;
    this.#addAlias(request, wakeup, answer.ok ? answer.value.acceptedAtMs : null);
    return { ...answer, repeatOf: wakeup.requestId };
  }

  #addAlias(
    { appId, deviceId, requestId }: WakeupRequest,
    { id, requestId: repeatOf, aliases }: RepeatableWakeup,
    acceptedAtMs: number | null,
  ): void {
    if (id === null || requestId === repeatOf || aliases.includes(requestId)) return;
    if (aliases.length >= wakeupAliasesMax || this.#records.isFull()) return;
    aliases.push(requestId);
    const record = aliasRecord(id, repeatOf, deviceId, acceptedAtMs, this.#clock.wallMs());
    this.#records.save(appId, requestId, record, null);
  }
}

function isAccepted(answer: WakeupAnswer): boolean {
  return answer.ok;
}
