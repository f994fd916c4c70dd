/**
 * Ends a call for the backend that had it issued, and answers how it ended. The order of checks is contract: access (40403, 40302;
 * an expired device's call may be ended), room to remember the request (42901), the call (40414).
 *
 * Repeats get the same answer: for a call that has ended, by whatever cause, the reason of its end, as long as that is known
 * (ended-calls.ts; by session, as long as it is among the device's latest events). A session ends once, so repeats by session need
 * no memory. A room may have another call by then, so all members remember ends by room by their signatures.
 *
 * The member that has the device's calls ends the call; a call of another application is answered like an unknown one. Source:
 * calls-and-media.md, Call sessions and call status; cluster.md, Media; tgv1-signing.md, Replay.
 */
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { CallEnd, CallEndOrder, CallSession } from '../../model/call.ts';
import { retryable, refusal, type CallEndCode, type Refusal } from '../../model/codes.ts';
import type { DeviceId } from '../../model/ids.ts';
import { callCommitMsMax, callEndsKnownMax } from '../../model/limits.ts';
import type { PeerNotice } from '../../protocol/cluster/peer-message.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type { CallLocator } from '../ports/call-locator.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { CallRecords } from '../ports/records.ts';
import { checkDeviceAccess } from '../devices/device-access.ts';
import { AnswerMemory, isFinal } from '../messages/answer-memory.ts';
import type { CallDirectory } from './call-directory.ts';
import type { EndedCall, EndedCalls, NamedCall } from './ended-calls.ts';
import { isSoonCommitted } from './issue-call-credentials.ts';

export interface CallEndDeps extends CoreDeps {
  readonly directory: Pick<CallDirectory, 'find' | 'sessionsOf' | 'end'>;
  readonly records: Pick<CallRecords, 'committed'>;
  readonly events: Pick<EventLog, 'recentOf'>;
  readonly ended: EndedCalls;
  readonly answered: AnsweredEnds;
  readonly callLocator: Pick<CallLocator, 'locate' | 'ask'>;
}

type Why = Refusal<CallEndCode>;
export type CallEndAnswer = Result<CallEnd, Why>;

const noCall: CallEndAnswer = fail(refusal(40414));

/** Settles within a commit (2 s) and one more question to a member; never rejects. */
export async function endCall(deps: CallEndDeps, order: CallEndOrder): Promise<CallEndAnswer> {
  try {
    const denied = findDenial(deps, order);
    if (denied !== null) return fail(denied);
    if (order.call.kind === 'session') return await end(deps, order);
    return await endByRoom(deps, order);
  } catch (error) {
    return broken(deps, error);
  }
}

/** Answers another member that located the device's calls here. Never rejects. */
export async function answerCallEnd(deps: CallEndDeps, order: CallEndOrder): Promise<CallEndAnswer> {
  try {
    const denied = findDenial(deps, order);
    if (denied !== null) return fail(denied);
    const answer = (await deps.answered.repeated(order)) ?? (await endHere(deps, order)) ?? noCall;
    if (answer.ok && order.call.kind === 'room') deps.answered.keep(order, answer);
    return answer;
  } catch (error) {
    return broken(deps, error);
  }
}

/** An expired device keeps its call until it is ended, so expiry (40304) is no denial here. */
function findDenial({ clock, registry }: CallEndDeps, { appId, deviceId }: CallEndOrder): Why | null {
  const denied = checkDeviceAccess(registry, appId, deviceId, wallSeconds(clock));
  return denied === null || denied === 40304 ? null : refusal(denied);
}

async function endByRoom(deps: CallEndDeps, order: CallEndOrder): Promise<CallEndAnswer> {
  const { answered } = deps;
  const known = answered.repeated(order);
  if (known !== null) return known;
  if (!answered.hasRoomFor(order)) return fail(overload);
  const answer = end(deps, order);
  answered.begin(order, answer);
  return answer;
}

const overload: Why = retryable(42901, 'too many ended calls are remembered: retry later');

async function end(deps: CallEndDeps, order: CallEndOrder): Promise<CallEndAnswer> {
  const { callLocator } = deps;
  const member = await callLocator.locate(order.deviceId);
  if (member === 'here') return (await endHere(deps, order)) ?? noCall;
  if (member === 'unavailable')
    return unavailable('the member that has the calls of the device cannot be reached');
  const asked = await callLocator.ask<'end-call'>(member, { kind: 'end-call', order }, callCommitMsMax);
  if (!asked.ok) return unavailable('the member that has the calls of the device does not answer');
  const isUnknown = !asked.value.ok && asked.value.error.code === 40414;
  return (isUnknown ? await endHere(deps, order) : null) ?? asked.value;
}

async function endHere(deps: CallEndDeps, order: CallEndOrder): Promise<CallEndAnswer | null> {
  const live = findLive(deps.directory, order);
  if (live !== null) deps.directory.end(live.sessionId, order.reason);
  const ended = findEnded(deps, order);
  if (ended === null) return null;
  const isCommitted = await isSoonCommitted(deps, order.deviceId);
  return isCommitted ? succeed(ended) : unavailable('the call has ended, but the store has not committed it');
}

function findLive(directory: CallEndDeps['directory'], order: CallEndOrder): CallSession | null {
  return directory.sessionsOf(order.deviceId).find((session) => isNamed(session, order)) ?? null;
}

function isNamed({ appId, sessionId, room }: CallSession, order: NamedCall): boolean {
  const { call } = order;
  if (appId !== order.appId) return false;
  return call.kind === 'session' ? sessionId === call.sessionId : room.roomId === call.roomId;
}

function findEnded({ ended, events }: CallEndDeps, order: CallEndOrder): CallEnd | null {
  const known = ended.find(order);
  if (known !== null) return isTheirs(known, order) ? endOf(known) : null;
  return order.call.kind === 'session' ? findLogged(events, order.deviceId, order.call.sessionId) : null;
}

function isTheirs(known: EndedCall, order: CallEndOrder): boolean {
  return known.appId === order.appId && known.deviceId === order.deviceId;
}

function endOf({ deviceId, sessionId, reason, endedAtMs }: CallEnd): CallEnd {
  return { deviceId, sessionId, reason, endedAtMs };
}

function findLogged(
  events: CallEndDeps['events'],
  deviceId: DeviceId,
  sessionId: CallEnd['sessionId'],
): CallEnd | null {
  for (const { type, data, atMs } of events.recentOf(deviceId)) {
    if (type !== 'call.ended' || data.session !== sessionId || data.reason === null) continue;
    return { deviceId, sessionId, reason: data.reason, endedAtMs: atMs };
  }
  return null;
}

function unavailable(message: string): CallEndAnswer {
  return fail(retryable(50301, message));
}

function broken({ log }: CallEndDeps, error: unknown): CallEndAnswer {
  log.error({ err: error }, 'call: not ended: registry or store unreadable; answered 50000');
  return fail(refusal(50000));
}

type EndAnswered = Extract<PeerNotice, { kind: 'call-end-answered' }>;

/**
 * Remembers ends by room by their signatures, so that a repeat does not end the room's next call. Members notify each other, since
 * a repeat may reach another member.
 */
export class AnsweredEnds extends AnswerMemory<CallEndAnswer> {
  /** `notifyOthers`: sends to all other members; must not throw. */
  constructor(clock: Clock, notifyOthers: (answered: EndAnswered) => void, knownMax = callEndsKnownMax) {
    super(clock, knownMax, isFinal, (request, answer) => {
      const isKnown = answer.ok || answer.error.code === 40414;
      const end = answer.ok ? answer.value : null;
      if (isKnown) notifyOthers({ kind: 'call-end-answered', ...request, end });
    });
  }

  /** Records an end that another member answered; exceeds the local bound, since that member kept to its own. */
  recordAnswered({ end, ...request }: EndAnswered): void {
    this.keep(request, end === null ? noCall : succeed(end));
  }
}
