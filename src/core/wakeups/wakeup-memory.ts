/**
 * Remembers wakeups by their signatures while their dates are within the clock window. A repeat of one in progress joins it, and a
 * repeat of an accepted one gets the same answer. After any other outcome the wakeup is executed again, because a second packet
 * does no harm and a lost one does. A signature is made with an application's key, so it belongs to one application. The
 * X-Request-ID is ignored: each accepted wakeup is a write of its own.
 *
 * Bounded: full of this member's own entries means 42901, and no entry is dropped. Entries of other members have as much room
 * again; beyond that they are ignored, and the member that has the device answers the repeat. Source: decisions.md, Wakeup;
 * tgv1-signing.md, Replay.
 */
import type { Clock } from '../../lib/clock.ts';
import { type Result, succeed } from '../../lib/result.ts';
import type { Refusal, WakeupCode } from '../../model/codes.ts';
import type { AcceptedWakeup } from '../../protocol/cluster/member-values.ts';
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
    /** Absent: refused before the write. */
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

  /** False: answer 42901, because this memory or the records are full, or a later signature has expired already. */
  override hasRoomFor(request: SignedRequest): boolean {
    return super.hasRoomFor(request) && !this.#records.isFull();
  }

  override repeated(request: SignedRequest): WakeupAnswer | Promise<WakeupAnswer> | null {
    return super.repeated(request) ?? this.#elsewhere.repeated(request);
  }

  /** Records a wakeup that another member accepted, so that a repeat here gets the same answer. */
  recordAccepted({ receipt, wakeup, ...request }: AcceptedWakeup): void {
    if (!this.#elsewhere.hasRoomFor(request)) return;
    this.#elsewhere.keep(request, { ...succeed(receipt), wakeup });
  }

  /** Answers a repeat, and makes the outcome available under the repeat's request id. */
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
