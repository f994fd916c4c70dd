/**
 * Answers whether a device is in a call, from the records of its live sessions. Answers in the same turn unless the record is not
 * committed yet, because an answer must survive a crash. Observes only and reserves nothing. Source: API doc, Endpoint 3;
 * calls-and-media.md, Call sessions and call status.
 */
import { wallSeconds, type Clock, completesWithin } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { isInCall, type CallSession } from '../../model/call.ts';
import { refusal, type CallStatusCode, type Refusal } from '../../model/codes.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import { callCommitMsMax } from '../../model/limits.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type { CallLocator } from '../ports/call-locator.ts';
import type { CallRecords } from '../ports/records.ts';
import { checkDeviceAccess } from '../devices/device-access.ts';

export interface CallStatusDeps extends CoreDeps {
  readonly records: CallRecords;
  readonly callLocator: Pick<CallLocator, 'isInCallElsewhere'>;
}

type Answer = Result<boolean, Refusal<CallStatusCode>>;

/** A value if available in this turn; else a promise that settles within 2 s and never rejects. */
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
    if (committed !== null) return answerOnceCommitted(clock, committed, succeed(hasCall(sessions)));
    if (sessions.length > 0) return succeed(hasCall(sessions));
    const elsewhere = deps.callLocator.isInCallElsewhere(deviceId);
    return elsewhere instanceof Promise ? answerElsewhere(deps, elsewhere) : succeed(elsewhere);
  } catch (error) {
    log.error({ err: error }, 'call status: not read: registry or store unreadable; answered 50000');
    return fail(refusal(50000));
  }
}

async function answerElsewhere({ log }: CallStatusDeps, elsewhere: Promise<boolean>): Promise<Answer> {
  try {
    return succeed(await elsewhere);
  } catch (error) {
    log.warn({ err: error }, 'call status: not read: calls of other members unreadable; answered 50000');
    return fail(refusal(50000));
  }
}

function hasCall(sessions: readonly CallSession[]): boolean {
  return sessions.some(({ state }) => isInCall(state));
}

async function answerOnceCommitted(clock: Clock, committed: Promise<void>, answer: Answer): Promise<Answer> {
  const isCommitted = await completesWithin(clock, callCommitMsMax, committed);
  return isCommitted ? answer : fail(refusal(50000));
}
