/**
 * What became of a wakeup: as it is now, or, if the caller waits, once its outcome is known or the wait is over. What
 * is answered is committed first. Source: events.md, Reading.
 */
import type { Clock } from '../base/clock.ts';
import { fail, succeed, type Outcome } from '../base/outcome.ts';
import { settlesWithin } from '../base/settles-within.ts';
import type { WakeupWatch } from '../actor/wakeup-watch.ts';
import { refusal, type Refusal, type WakeupOutcomeCode } from '../domain/codes.ts';
import type { ApplicationId, RequestId } from '../domain/ids.ts';
import { wakeupOutcomeCommitMsMax } from '../domain/limits.ts';
import type { WakeupRecord } from '../domain/wakeup.ts';
import type { Log } from '../ports/log.ts';
import type { WakeupRecords } from '../ports/wakeup-records.ts';
import type { Seat, WaitingReaders } from './waiting-readers.ts';

export interface WakeupOutcomeHouse {
  readonly clock: Clock;
  readonly wakeupRecords: WakeupRecords;
  readonly watch: WakeupWatch;
  readonly readers: WaitingReaders;
  readonly log: Log;
}

export interface WakeupOutcomeCall {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  /** 0-30 000. */
  readonly waitMs: number;
  /** Takes what is to be called when the caller hangs up. */
  onGone(listener: () => void): void;
}

type Answer = Outcome<WakeupRecord, Refusal<WakeupOutcomeCode>>;

/** A value when nothing has to be waited for; else a promise that settles within the wait and 2 s and never rejects. */
export function queryWakeupOutcome(
  house: WakeupOutcomeHouse,
  call: WakeupOutcomeCall,
): Answer | Promise<Answer> {
  try {
    const record = house.wakeupRecords.find(call.appId, call.requestId);
    if (record === null) return fail(refusal(40413));
    if (!record.isAwaited || call.waitMs === 0) return answerOnceCommitted(house, call, record);
    const seat = house.readers.enter(call.appId);
    if (seat === null) return fail({ ...refusal(42901), retryAfterS: 1 });
    call.onGone(() => seat.leave());
    return answerInTime(house, call, seat);
  } catch (error) {
    return unreadable(house, error);
  }
}

async function answerInTime(house: WakeupOutcomeHouse, call: WakeupOutcomeCall, seat: Seat): Promise<Answer> {
  try {
    const record = await waitForOutcome(house, call, seat);
    return record === null ? fail(refusal(40413)) : await answerOnceCommitted(house, call, record);
  } catch (error) {
    return unreadable(house, error);
  } finally {
    seat.leave();
  }
}

/** What is so when the outcome is known, the wait is over, the caller has gone, or the server drains. */
async function waitForOutcome(
  { clock, wakeupRecords, watch }: WakeupOutcomeHouse,
  { appId, requestId, waitMs }: WakeupOutcomeCall,
  seat: Seat,
): Promise<WakeupRecord | null> {
  const endMs = clock.monotonicMs() + waitMs;
  // Told without an outcome: it was begun anew under the same id, and the new one is waited for.
  for (let isTold = true; isTold;) {
    const record = wakeupRecords.find(appId, requestId);
    if (record?.isAwaited !== true) return record;
    isTold = false;
    const stop = watch.whenSettled(appId, requestId, () => {
      isTold = true;
      seat.wake();
    });
    await seat.wait(endMs - clock.monotonicMs());
    stop();
  }
  return wakeupRecords.find(appId, requestId);
}

function answerOnceCommitted(
  { clock, wakeupRecords }: WakeupOutcomeHouse,
  { appId, requestId }: WakeupOutcomeCall,
  record: WakeupRecord,
): Answer | Promise<Answer> {
  const committed = wakeupRecords.committed(appId, requestId);
  if (committed === null) return succeed(record);
  return settlesWithin(clock, wakeupOutcomeCommitMsMax, committed).then((isCommitted) =>
    isCommitted ? succeed(record) : fail(unavailable),
  );
}

const unavailable = { ...refusal(50301, 'wakeup outcome service unavailable'), retryAfterS: 1 } as const;

function unreadable(house: WakeupOutcomeHouse, error: unknown): Answer {
  house.log.error({ err: error }, 'the outcome of a wakeup cannot be read');
  return fail(unavailable);
}
