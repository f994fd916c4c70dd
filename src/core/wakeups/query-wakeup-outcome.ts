/**
 * What became of a wakeup: as it is now, or, if the caller waits, once its outcome is known or the wait is over. What
 * is answered is committed first. One that another member has done is read from what all share.
 * Source: events.md, Reading; cluster.md.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { fail, succeed, type Outcome } from '../../lib/outcome.ts';
import { pause } from '../../lib/pause.ts';
import { settlesWithin } from '../../lib/settles-within.ts';
import type { WakeupWatch } from './wakeup-watch.ts';
import { refusal, type Refusal, type WakeupOutcomeCode } from '../../model/codes.ts';
import type { ApplicationId, DeviceId, RequestId } from '../../model/ids.ts';
import { wakeupOutcomeCommitMsMax, wakeupRecallEveryMs, wakeupRecallMsMax } from '../../model/limits.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';
import type { Log } from '../ports/log.ts';
import type { WakeupRecords } from '../ports/wakeup-records.ts';
import { SharedStateAway } from '../ports/whereabouts.ts';
import type { ClusterHouse } from '../devices/locate-device.ts';
import type { OutcomeArrivals } from './outcome-arrivals.ts';
import type { Seat, WaitingReaders } from '../events/waiting-readers.ts';

export interface WakeupOutcomeHouse {
  readonly clock: Clock;
  readonly wakeupRecords: WakeupRecords;
  readonly watch: WakeupWatch;
  readonly readers: WaitingReaders;
  readonly log: Log;
  /** Both null: alone. */
  readonly cluster: ClusterHouse | null;
  readonly arrivals: OutcomeArrivals | null;
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
    const found = findRecord(house, call);
    return found instanceof Promise ? answerRecalled(house, call, found) : answerFound(house, call, found);
  } catch (error) {
    return unreadable(house, error);
  }
}

/** A value when it is in this store. Rejects with SharedStateAway. */
function findRecord(
  house: WakeupOutcomeHouse,
  call: WakeupOutcomeCall,
): WakeupRecord | null | Promise<WakeupRecord | null> {
  const record = house.wakeupRecords.find(call.appId, call.requestId);
  return record === null && house.cluster !== null ? recall(house.clock, house.cluster, call) : record;
}

/** What another member has accepted a moment ago may be on its way to what all share. Rejects with SharedStateAway. */
async function recall(
  clock: Clock,
  cluster: ClusterHouse,
  { appId, requestId }: WakeupOutcomeCall,
): Promise<WakeupRecord | null> {
  const endMs = clock.monotonicMs() + wakeupRecallMsMax;
  for (;;) {
    const record = await cluster.recallWakeup(appId, requestId, wakeupOutcomeCommitMsMax);
    if (record !== null || clock.monotonicMs() >= endMs) return record;
    await pause(clock, wakeupRecallEveryMs);
  }
}

async function answerRecalled(
  house: WakeupOutcomeHouse,
  call: WakeupOutcomeCall,
  recalled: Promise<WakeupRecord | null>,
): Promise<Answer> {
  try {
    return await answerFound(house, call, await recalled);
  } catch (error) {
    return unreadable(house, error);
  }
}

function answerFound(
  house: WakeupOutcomeHouse,
  call: WakeupOutcomeCall,
  record: WakeupRecord | null,
): Answer | Promise<Answer> {
  if (record === null) return fail(refusal(40413));
  if (!record.isAwaited || call.waitMs === 0) return answerOnceCommitted(house, call, record);
  const seat = house.readers.enter(call.appId);
  if (seat === null) return fail({ ...refusal(42901), retryAfterS: 1 });
  call.onGone(() => seat.leave());
  return answerInTime(house, call, record, seat);
}

async function answerInTime(
  house: WakeupOutcomeHouse,
  call: WakeupOutcomeCall,
  { deviceId }: WakeupRecord,
  seat: Seat,
): Promise<Answer> {
  try {
    const record = await waitForOutcome(house, call, deviceId, seat);
    return record === null ? fail(refusal(40413)) : await answerOnceCommitted(house, call, record);
  } catch (error) {
    return unreadable(house, error);
  } finally {
    seat.leave();
  }
}

/** What is so when the outcome is known, the wait is over, the caller has gone, or the server drains. */
async function waitForOutcome(
  house: WakeupOutcomeHouse,
  call: WakeupOutcomeCall,
  deviceId: DeviceId,
  seat: Seat,
): Promise<WakeupRecord | null> {
  const { clock } = house;
  const endMs = clock.monotonicMs() + call.waitMs;
  let isTold = false;
  const told = (): void => {
    isTold = true;
    seat.wake();
  };
  // Told without an outcome: it was begun anew under the same id, and the new one is waited for.
  do {
    isTold = false;
    // Followed before it is looked at, so that nothing comes between.
    const stop = whenSettled(house, call, deviceId, told);
    const record = await findRecord(house, call);
    if (record?.isAwaited === true) await seat.wait(endMs - clock.monotonicMs());
    stop();
    if (record?.isAwaited !== true) return record;
  } while (isTold);
  return findRecord(house, call);
}

/** Of this member's own the watch tells, of the others' the log. */
function whenSettled(
  { watch, arrivals }: WakeupOutcomeHouse,
  { appId, requestId }: WakeupOutcomeCall,
  deviceId: DeviceId,
  told: () => void,
): Cancel {
  const forgetOwn = watch.whenSettled(appId, requestId, told);
  const forgetLogged = arrivals?.follow(deviceId, requestId, told);
  return () => {
    forgetOwn();
    forgetLogged?.();
  };
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
  if (!(error instanceof SharedStateAway))
    house.log.error({ err: error }, 'the outcome of a wakeup cannot be read');
  return fail(unavailable);
}
