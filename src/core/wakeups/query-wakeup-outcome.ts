/**
 * Answers what became of a wakeup: as it is now, or, if the caller waits, once its outcome is known or the wait is over. What
 * is answered is committed first. One that another member has done is read from what all share.
 * Source: events.md, Reading; cluster.md.
 */
import { type Cancel, type Clock, pause, settlesWithin } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { WakeupWatch } from './wakeup-watch.ts';
import { refusal, type Refusal, type WakeupOutcomeCode } from '../../model/codes.ts';
import type { ApplicationId, DeviceId, RequestId } from '../../model/ids.ts';
import { wakeupOutcomeCommitMsMax, wakeupRecallEveryMs, wakeupRecallMsMax } from '../../model/limits.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';
import type { Log } from '../ports/log.ts';
import type { WakeupRecords } from '../ports/wakeup-records.ts';
import { SharedStateUnavailable } from '../ports/session-locator.ts';
import type { ClusterDeps } from '../devices/locate-device.ts';
import type { OutcomeWaiters } from './log-followers.ts';
import type { ReaderSlot, WaitingReaders } from '../events/waiting-readers.ts';

export interface WakeupOutcomeDeps {
  readonly clock: Clock;
  readonly wakeupRecords: WakeupRecords;
  readonly watch: WakeupWatch;
  readonly readers: WaitingReaders;
  readonly log: Log;
  /** Both null: alone. */
  readonly cluster: ClusterDeps | null;
  readonly waiters: OutcomeWaiters | null;
}

export interface WakeupOutcomeCall {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  /** 0-30 000. */
  readonly waitMs: number;
  /** Takes what is to be called when the caller hangs up. */
  onGone(listener: () => void): void;
}

type Answer = Result<WakeupRecord, Refusal<WakeupOutcomeCode>>;

/** A value when nothing has to be waited for; else a promise that settles within the wait and 2 s and never rejects. */
export function queryWakeupOutcome(
  deps: WakeupOutcomeDeps,
  call: WakeupOutcomeCall,
): Answer | Promise<Answer> {
  try {
    const found = findRecord(deps, call);
    return found instanceof Promise ? answerRecalled(deps, call, found) : answerFound(deps, call, found);
  } catch (error) {
    return unreadable(deps, error);
  }
}

/** A value when it is in this store. Rejects with SharedStateUnavailable. */
function findRecord(
  deps: WakeupOutcomeDeps,
  call: WakeupOutcomeCall,
): WakeupRecord | null | Promise<WakeupRecord | null> {
  const record = deps.wakeupRecords.find(call.appId, call.requestId);
  return record === null && deps.cluster !== null ? recall(deps.clock, deps.cluster, call) : record;
}

/** What another member has accepted a moment ago may be on its way to what all share. Rejects with SharedStateUnavailable. */
async function recall(
  clock: Clock,
  cluster: ClusterDeps,
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
  deps: WakeupOutcomeDeps,
  call: WakeupOutcomeCall,
  recalled: Promise<WakeupRecord | null>,
): Promise<Answer> {
  try {
    return await answerFound(deps, call, await recalled);
  } catch (error) {
    return unreadable(deps, error);
  }
}

function answerFound(
  deps: WakeupOutcomeDeps,
  call: WakeupOutcomeCall,
  record: WakeupRecord | null,
): Answer | Promise<Answer> {
  if (record === null) return fail(refusal(40413));
  if (!record.isAwaited || call.waitMs === 0) return answerOnceCommitted(deps, call, record);
  const slot = deps.readers.enter(call.appId);
  if (slot === null) return fail({ ...refusal(42901), retryAfterS: 1 });
  call.onGone(() => slot.leave());
  return answerInTime(deps, call, record, slot);
}

async function answerInTime(
  deps: WakeupOutcomeDeps,
  call: WakeupOutcomeCall,
  { deviceId }: WakeupRecord,
  slot: ReaderSlot,
): Promise<Answer> {
  try {
    const record = await waitForOutcome(deps, call, deviceId, slot);
    return record === null ? fail(refusal(40413)) : await answerOnceCommitted(deps, call, record);
  } catch (error) {
    return unreadable(deps, error);
  } finally {
    slot.leave();
  }
}

/** What is so when the outcome is known, the wait is over, the caller has gone, or the server drains. */
async function waitForOutcome(
  deps: WakeupOutcomeDeps,
  call: WakeupOutcomeCall,
  deviceId: DeviceId,
  slot: ReaderSlot,
): Promise<WakeupRecord | null> {
  const { clock } = deps;
  const endMs = clock.monotonicMs() + call.waitMs;
  let isNotified = false;
  const notify = (): void => {
    isNotified = true;
    slot.wake();
  };
  // Notified without an outcome: it was begun anew under the same id, and the new one is waited for.
  do {
    isNotified = false;
    // Followed before it is looked at, so that nothing comes between.
    const stop = whenSettled(deps, call, deviceId, notify);
    const record = await findRecord(deps, call);
    if (record?.isAwaited === true) await slot.wait(endMs - clock.monotonicMs());
    stop();
    if (record?.isAwaited !== true) return record;
  } while (isNotified);
  return findRecord(deps, call);
}

/** The watch notifies of this member's own, the log of the others'. */
function whenSettled(
  { watch, waiters }: WakeupOutcomeDeps,
  { appId, requestId }: WakeupOutcomeCall,
  deviceId: DeviceId,
  notify: () => void,
): Cancel {
  const forgetOwn = watch.whenSettled(appId, requestId, notify);
  const forgetLogged = waiters?.follow(deviceId, requestId, notify);
  return () => {
    forgetOwn();
    forgetLogged?.();
  };
}

function answerOnceCommitted(
  { clock, wakeupRecords }: WakeupOutcomeDeps,
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

function unreadable(deps: WakeupOutcomeDeps, error: unknown): Answer {
  if (!(error instanceof SharedStateUnavailable))
    deps.log.error({ err: error }, 'the outcome of a wakeup cannot be read');
  return fail(unavailable);
}
