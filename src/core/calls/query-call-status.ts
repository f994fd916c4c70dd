/**
 * Answers whether a device is in a call, by the records of its live sessions. Answers in the same turn when it can; waits while
 * what it says is on its way to the store, because what was answered must survive a crash. An observation, no
 * reservation. Source: API doc, Endpoint 3; calls-and-media.md, Call sessions and call status.
 */
import { wallSeconds, type Clock, settlesWithin } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { isInCall, type CallSession } from '../../model/call.ts';
import { refusal, type CallStatusCode, type Refusal } from '../../model/codes.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import { callCommitMsMax } from '../../model/limits.ts';
import type { CallRecords } from '../ports/records.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { checkDeviceAccess } from '../devices/device-access.ts';

export interface CallStatusDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly records: CallRecords;
  readonly log: Log;
  /** The sessions that other members keep: at hand where this store has all; rejects when they are not known. */
  readonly keptElsewhere: (deviceId: DeviceId) => readonly CallSession[] | Promise<readonly CallSession[]>;
}

/** True: it is in a call. */
type Answer = Result<boolean, Refusal<CallStatusCode>>;

/** A value when nothing has to be waited for; else a promise that settles within 2 s and never rejects. */
export function queryCallStatus(
  deps: CallStatusDeps,
  appId: ApplicationId,
  deviceId: DeviceId,
): Answer | Promise<Answer> {
  const { clock, registry, records, log } = deps;
  try {
    const denied = checkDeviceAccess(registry, appId, deviceId, wallSeconds(clock));
    if (denied !== null) return fail(refusal(denied));
    const sessions = records.read(deviceId);
    const committed = records.committed(deviceId);
    const kept = sessions.length === 0 && committed === null ? deps.keptElsewhere(deviceId) : sessions;
    if (kept instanceof Promise) return answerElsewhere(deps, kept);
    const answer = succeed(hasCall(kept));
    return committed === null ? answer : answerOnceCommitted(clock, committed, answer);
  } catch (error) {
    log.error({ err: error }, 'cannot read the call status of a device');
    return fail(refusal(50000));
  }
}

async function answerElsewhere(
  { log }: CallStatusDeps,
  kept: Promise<readonly CallSession[]>,
): Promise<Answer> {
  try {
    return succeed(hasCall(await kept));
  } catch (error) {
    log.warn({ err: error }, 'cannot tell which calls other members keep');
    return fail(refusal(50000));
  }
}

function hasCall(sessions: readonly CallSession[]): boolean {
  return sessions.some(({ state }) => isInCall(state));
}

async function answerOnceCommitted(clock: Clock, committed: Promise<void>, answer: Answer): Promise<Answer> {
  const isCommitted = await settlesWithin(clock, callCommitMsMax, committed);
  return isCommitted ? answer : fail(refusal(50000));
}
