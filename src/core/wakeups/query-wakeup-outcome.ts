/**
 * Answers the outcome of a wakeup: the current one, or, if the caller waits, once it is known or the wait ends. The outcome is
 * committed before the answer. Among wakeups with the same request id the latest is chosen, or the latest of the given device,
 * before the wait begins. A wakeup of another member is read from the shared state. Source: events.md, Reading; cluster.md.
 */
import { type Cancel, type Clock, pause, completesWithin } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { WakeupWatch } from './wakeup-watch.ts';
import { retryable, refusal, type Refusal, type WakeupOutcomeCode } from '../../model/codes.ts';
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

export interface OutcomeSources {
  readonly clock: Clock;
  readonly wakeupRecords: WakeupRecords;
  readonly watch: WakeupWatch;
  readonly cluster: ClusterDeps | null;
  readonly waiters: OutcomeWaiters;
}

export interface AwaitedWakeup {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  readonly deviceId: DeviceId | null;
  /** 0-30 000. */
  readonly waitMs: number;
}

export interface WakeupOutcomeCall extends AwaitedWakeup {
  /** Registers a listener for the caller's disconnect. */
  onGone(listener: () => void): void;
}

type Answer = Result<WakeupRecord, Refusal<WakeupOutcomeCode>> & RepeatMark;

/** A value if available in this turn; else a promise that settles within the wait and 2 s and never rejects. */
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

/** A value if no other member can have a later one. Rejects with SharedStateUnavailable if this member has none either. */
function findRecord(deps: OutcomeSources, name: WakeupName): Found | Promise<Found> {
  const own = deps.wakeupRecords.find(name);
  const isTheOne = own !== null && typeof name.which === 'string';
  return deps.cluster === null || isTheOne ? own : search(deps, deps.cluster, name);
}

/** Retries for a moment: a wakeup that another member just accepted may not be in the shared state yet. */
async function search(deps: OutcomeSources, cluster: ClusterDeps, name: WakeupName): Promise<Found> {
  const { clock } = deps;
  const endMs = clock.monotonicMs() + wakeupRecallMsMax;
  for (;;) {
    const record = await findLatest(deps, cluster, name);
    if (record !== null || clock.monotonicMs() >= endMs) return record;
    await pause(clock, wakeupRecallEveryMs);
  }
}

/** Prefers the local record: the member that began a wakeup has the newest state. */
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
  if (slot === null) return fail(retryable(42901));
  call.onGone(() => slot.leave());
  return answerInTime(deps, call, record, slot);
}

/** Answers the outcome of the wakeup that was repeated. */
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
 * Like a waiting query, for a caller with a slot: the record once the outcome is known, the wait ends, the slot is left, or the
 * server drains. Null: no such wakeup. Rejects with SharedStateUnavailable.
 */
export async function awaitOutcome(
  deps: OutcomeSources,
  call: AwaitedWakeup,
  slot: ReaderSlot,
): Promise<WakeupRecord | null> {
  const found = await findRecord(deps, latestOf(call));
  return found?.isAwaited === true ? waitForOutcome(deps, call, found, slot) : found;
}

/** The record once the outcome is known, the wait ends, the caller disconnects, or the server drains. */
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
  // A notification without an outcome was for another wakeup of the device with the same request id.
  do {
    isNotified = false;
    // Subscribes before it reads, so that no outcome is missed.
    const stop = whenSettled(deps, call, asked, notify);
    const record = await findRecord(deps, name);
    if (record?.isAwaited === true) await slot.wait(endMs - clock.monotonicMs());
    stop();
    if (record?.isAwaited !== true) return record;
  } while (isNotified);
  return findRecord(deps, name);
}

/** The watch notifies of local outcomes, the log of all others. */
function whenSettled(
  { watch, waiters }: OutcomeSources,
  { requestId }: AwaitedWakeup,
  asked: WakeupRecord,
  notify: () => void,
): Cancel {
  const forgetOwn = watch.whenSettled(asked, notify);
  const forgetLogged = waiters.follow(asked.deviceId, requestId, notify);
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
  return completesWithin(clock, wakeupOutcomeCommitMsMax, committed).then((isCommitted) =>
    isCommitted ? succeed(record) : fail(unavailable),
  );
}

const unavailable = retryable(50301, 'wakeup outcome service unavailable');

function unreadable(deps: WakeupOutcomeDeps, error: unknown): Answer {
  if (!(error instanceof SharedStateUnavailable))
    deps.log.error({ err: error }, 'wakeup outcome: not read: store unreadable; answered 50301');
  return fail(unavailable);
}
