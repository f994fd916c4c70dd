/**
 * Answers what became of a wakeup: as it is now, or, if the caller waits, once its outcome is known or the wait is over. What
 * is answered is committed first. Of several wakeups that bear the request id it is the latest, or the latest of the device that
 * is named; which one that is, is settled before it is waited for. One that another member has done is read from what all share.
 * Source: events.md, Reading; cluster.md.
 */
import { type Cancel, type Clock, pause, settlesWithin } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { WakeupWatch } from './wakeup-watch.ts';
import { comeAgain, refusal, type Refusal, type WakeupOutcomeCode } from '../../model/codes.ts';
import type { ApplicationId, DeviceId, RequestId } from '../../model/ids.ts';
import { wakeupOutcomeCommitMsMax, wakeupRecallEveryMs, wakeupRecallMsMax } from '../../model/limits.ts';
import type { RepeatMark, WakeupName, WakeupRecord } from '../../model/wakeup.ts';
import type { Log } from '../../lib/log.ts';
import type { WakeupRecords } from '../ports/records.ts';
import { SharedStateUnavailable } from '../ports/session-locator.ts';
import type { ClusterDeps } from '../devices/locate-device.ts';
import type { OutcomeWaiters } from './log-followers.ts';
import type { ReaderSlot, WaitingReaders } from '../events/waiting-readers.ts';

export interface WakeupOutcomeDeps extends OutcomeSources {
  readonly readers: WaitingReaders;
  readonly log: Log;
}

/** Where an outcome is read, and who tells that it is there. */
export interface OutcomeSources {
  readonly clock: Clock;
  readonly wakeupRecords: WakeupRecords;
  readonly watch: WakeupWatch;
  /** Null: alone. */
  readonly cluster: ClusterDeps | null;
  readonly waiters: OutcomeWaiters;
}

export interface AwaitedWakeup {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  /** Null: whatever its device. */
  readonly deviceId: DeviceId | null;
  /** 0-30 000. */
  readonly waitMs: number;
}

export interface WakeupOutcomeCall extends AwaitedWakeup {
  /** Takes what is to be called when the caller hangs up. */
  onGone(listener: () => void): void;
}

type Answer = Result<WakeupRecord, Refusal<WakeupOutcomeCode>> & RepeatMark;

/** A value when nothing has to be waited for; else a promise that settles within the wait and 2 s and never rejects. */
export function queryWakeupOutcome(
  deps: WakeupOutcomeDeps,
  call: WakeupOutcomeCall,
): Answer | Promise<Answer> {
  try {
    const found = findRecord(deps, latestOf(call));
    return found instanceof Promise ? answerRecalled(deps, call, found) : answerFound(deps, call, found);
  } catch (error) {
    return unreadable(deps, error);
  }
}

function latestOf({ appId, requestId, deviceId }: AwaitedWakeup): WakeupName {
  return { appId, requestId, which: deviceId === null ? null : { deviceId } };
}

type Found = WakeupRecord | null;

/**
 * A value when this member knows that there is no later one. Rejects with SharedStateUnavailable when it knows of none,
 * either.
 */
function findRecord(deps: OutcomeSources, name: WakeupName): Found | Promise<Found> {
  const own = deps.wakeupRecords.find(name);
  const isTheOne = own !== null && typeof name.which === 'string';
  return deps.cluster === null || isTheOne ? own : search(deps, deps.cluster, name);
}

/** What another member has accepted a moment ago may be on its way to what all share. */
async function search(deps: OutcomeSources, cluster: ClusterDeps, name: WakeupName): Promise<Found> {
  const { clock } = deps;
  const endMs = clock.monotonicMs() + wakeupRecallMsMax;
  for (;;) {
    const record = await findLatest(deps, cluster, name);
    if (record !== null || clock.monotonicMs() >= endMs) return record;
    await pause(clock, wakeupRecallEveryMs);
  }
}

/** The member that began a wakeup knows its outcome best. */
async function findLatest(
  { wakeupRecords }: OutcomeSources,
  cluster: ClusterDeps,
  name: WakeupName,
): Promise<Found> {
  const own = wakeupRecords.find(name);
  try {
    const shared = await cluster.recallWakeup(name, wakeupOutcomeCommitMsMax);
    return own === null || (shared !== null && shared.id > own.id) ? shared : own;
  } catch (error) {
    if (own === null || !(error instanceof SharedStateUnavailable)) throw error;
    return own;
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
  if (record.repeatOf !== undefined) return answerAlias(deps, call, record, record.repeatOf);
  if (!record.isAwaited || call.waitMs === 0) return answerOnceCommitted(deps, call, record);
  const slot = deps.readers.enter(call.appId);
  if (slot === null) return fail(comeAgain(42901));
  call.onGone(() => slot.leave());
  return answerInTime(deps, call, record, slot);
}

/** The outcome is that of the wakeup that was repeated. */
async function answerAlias(
  deps: WakeupOutcomeDeps,
  call: WakeupOutcomeCall,
  alias: WakeupRecord,
  repeatOf: RequestId,
): Promise<Answer> {
  try {
    const kept = await answerOnceCommitted(deps, call, alias);
    if (!kept.ok) return kept;
    const { appId } = call;
    const first = await findRecord(deps, { appId, requestId: repeatOf, which: alias.id });
    return { ...(await answerFound(deps, { ...call, requestId: repeatOf }, first)), repeatOf };
  } catch (error) {
    return unreadable(deps, error);
  }
}

async function answerInTime(
  deps: WakeupOutcomeDeps,
  call: WakeupOutcomeCall,
  asked: WakeupRecord,
  slot: ReaderSlot,
): Promise<Answer> {
  try {
    const record = await waitForOutcome(deps, call, asked, slot);
    return record === null ? fail(refusal(40413)) : await answerOnceCommitted(deps, call, record);
  } catch (error) {
    return unreadable(deps, error);
  } finally {
    slot.leave();
  }
}

/**
 * For who has a slot already: what is so when the outcome is known, the wait is over, the slot was left, or the server drains.
 * Null: no such wakeup is known. Rejects with SharedStateUnavailable.
 */
export async function awaitOutcome(
  deps: OutcomeSources,
  call: AwaitedWakeup,
  slot: ReaderSlot,
): Promise<WakeupRecord | null> {
  const found = await findRecord(deps, latestOf(call));
  return found?.isAwaited === true ? waitForOutcome(deps, call, found, slot) : found;
}

/** What is so when the outcome is known, the wait is over, the caller has gone, or the server drains. */
async function waitForOutcome(
  deps: OutcomeSources,
  call: AwaitedWakeup,
  asked: WakeupRecord,
  slot: ReaderSlot,
): Promise<WakeupRecord | null> {
  const { clock } = deps;
  const name = { ...call, which: asked.id };
  const endMs = clock.monotonicMs() + call.waitMs;
  let isNotified = false;
  const notify = (): void => {
    isNotified = true;
    slot.wake();
  };
  // Notified without an outcome: it was that of another wakeup of the device that bears the same request id.
  do {
    isNotified = false;
    // Followed before it is looked at, so that nothing comes between.
    const stop = whenSettled(deps, call, asked, notify);
    const record = await findRecord(deps, name);
    if (record?.isAwaited === true) await slot.wait(endMs - clock.monotonicMs());
    stop();
    if (record?.isAwaited !== true) return record;
  } while (isNotified);
  return findRecord(deps, name);
}

/** The watch notifies of this member's own, the log of the others'. */
function whenSettled(
  { watch, waiters }: OutcomeSources,
  { requestId }: AwaitedWakeup,
  { id, deviceId }: WakeupRecord,
  notify: () => void,
): Cancel {
  const forgetOwn = watch.whenSettled(id, notify);
  const forgetLogged = waiters.follow(deviceId, requestId, notify);
  return () => {
    forgetOwn();
    forgetLogged();
  };
}

function answerOnceCommitted(
  { clock, wakeupRecords }: WakeupOutcomeDeps,
  { appId, requestId }: WakeupOutcomeCall,
  record: WakeupRecord,
): Answer | Promise<Answer> {
  const committed = wakeupRecords.committed({ appId, requestId, record });
  if (committed === null) return succeed(record);
  return settlesWithin(clock, wakeupOutcomeCommitMsMax, committed).then((isCommitted) =>
    isCommitted ? succeed(record) : fail(unavailable),
  );
}

const unavailable = comeAgain(50301, 'wakeup outcome service unavailable');

function unreadable(deps: WakeupOutcomeDeps, error: unknown): Answer {
  if (!(error instanceof SharedStateUnavailable))
    deps.log.error({ err: error }, 'the outcome of a wakeup cannot be read');
  return fail(unavailable);
}
