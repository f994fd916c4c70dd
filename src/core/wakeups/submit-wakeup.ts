/**
 * Submits a wakeup of 8 bytes for a sleeping device. Access and repeats are checked here; then do-wakeup.ts executes it, in this
 * process or at the member with the first of the device's sleep sessions. Deadlines nest: the time beyond the owner's deadline is
 * for locating it. Source: API doc, Endpoint 2; decisions.md, Wakeup; cluster.md, the failure table.
 */
import { createHash } from 'node:crypto';
import { wallSeconds, pause, type Clock } from '../../lib/clock.ts';
import { fail, succeed } from '../../lib/result.ts';
import type { DeviceSlots, MemberId } from '../../model/cluster.ts';
import { retryable, refusal } from '../../model/codes.ts';
import { callWakeupKnownMs, ownerRetryMs, ownerWakeMsMax, wakeupAnswerMsMax } from '../../model/limits.ts';
import type { PeerFailure } from '../../model/peer.ts';
import type { SignedRequest } from '../../model/signed-request.ts';
import type { WakeupRequest } from '../../model/wakeup.ts';
import { checkDeviceAccess } from '../devices/device-access.ts';
import { locateDevice, locationIn, type ClusterDeps } from '../devices/locate-device.ts';
import { answerKnown, beginWakeup, doWakeup, refuseWakeup, type WakeupDeps } from './do-wakeup.ts';
import type { AnsweredWakeups } from './answered-wakeups.ts';
import type { WakeupAnswer } from './wakeup-memory.ts';

/**
 * Settles within the write deadline (1 s); in a cluster within 2.5 s, and within 3 s while edges hand over sessions to a new core.
 * Never rejects.
 */
export async function submitWakeup(deps: WakeupDeps, request: WakeupRequest): Promise<WakeupAnswer> {
  try {
    const known = lookUp(deps, request);
    if (known !== null) return known;
    if (deps.cluster === null) return await ownPart(beginWakeup(deps, request));
    return await ownPart(await routeWakeup(deps, deps.cluster, request));
  } catch (error) {
    return unreadable(deps, error);
  }
}

export interface OwnWakeupDeps {
  readonly wakeups: WakeupDeps;
  readonly answeredWakeups: Pick<AnsweredWakeups, 'recordSubmitted'>;
}

type PacketChoice = 'customData' | 'customDataText';
/** A wakeup of the server itself. Default: the fixed packet. */
export type OwnWakeup = Omit<WakeupRequest, PacketChoice> & Partial<Pick<WakeupRequest, PacketChoice>>;

/** Submits it with the limits, record, events and log lines of a backend's wakeup. Never rejects. */
export async function submitOwnWakeup(
  { wakeups, answeredWakeups }: OwnWakeupDeps,
  wakeup: OwnWakeup,
): Promise<WakeupAnswer> {
  const request = { customData: null, customDataText: null, ...wakeup };
  const answer = await submitWakeup(wakeups, request);
  answeredWakeups.recordSubmitted(request, answer);
  return answer;
}

/** Signature for a wakeup without a caller. `occasion`: the same for repeats. */
export function ownSignature(clock: Clock, occasion: string): SignedRequest {
  const signature = createHash('sha256').update(occasion).digest('hex');
  return { signature, signatureExpiresMs: clock.wallMs() + callWakeupKnownMs };
}

/** Answers another member that located the session here. */
export async function answerWakeup(
  deps: WakeupDeps,
  request: WakeupRequest,
  slots: DeviceSlots,
): Promise<WakeupAnswer> {
  try {
    const actor = deps.directory.find(request.deviceId);
    const location = locationIn(slots, 'sleep', actor, deps.peers);
    return lookUp(deps, request) ?? ownPart(beginWakeup(deps, request, location));
  } catch (error) {
    return unreadable(deps, error);
  }
}

/** The answer if access is denied or the wakeup is a known repeat, regardless of the device's location; null: execute it. */
function lookUp(deps: WakeupDeps, request: WakeupRequest): WakeupAnswer | Promise<WakeupAnswer> | null {
  const { clock, registry, memory } = deps;
  const denied = checkDeviceAccess(registry, request.appId, request.deviceId, wallSeconds(clock));
  if (denied !== null) return refuseWakeup(deps, refusal(denied));
  const known = memory.repeated(request);
  return known === null ? null : answerKnown(deps, request, known);
}

/** Strips the details that only repeats need. */
async function ownPart(answer: WakeupAnswer | Promise<WakeupAnswer>): Promise<WakeupAnswer> {
  const own = await answer;
  if (own.wakeup === undefined) return own;
  return own.ok ? succeed(own.value) : fail(own.error);
}

function unreadable(deps: WakeupDeps, error: unknown): WakeupAnswer {
  deps.log.error({ err: error }, 'wakeup: refused: registry or store failed; answered 50301');
  return refuseWakeup(deps, retryable(50301, 'wakeup service unavailable'));
}

/** `unavailable`: the shared state is unreachable; `absent`: the asked member no longer has a session of the device. */
type Attempt = WakeupAnswer | PeerFailure | 'unavailable' | 'absent';

/** Settles within `wakeupAnswerMsMax`. Rejects when the store cannot be read. */
async function routeWakeup(
  deps: WakeupDeps,
  cluster: ClusterDeps,
  request: WakeupRequest,
): Promise<WakeupAnswer> {
  const endMs = deps.clock.monotonicMs() + wakeupAnswerMsMax;
  const first = await attempt(deps, cluster, request, endMs);
  if (first !== 'nobody' && first !== 'absent') return answerOf(deps, first);
  if (first === 'nobody') await pause(deps.clock, ownerRetryMs);
  return answerOf(deps, await attempt(deps, cluster, request, endMs));
}

async function attempt(
  deps: WakeupDeps,
  cluster: ClusterDeps,
  request: WakeupRequest,
  endMs: number,
): Promise<Attempt> {
  const { clock } = deps;
  const findMs = Math.max(0, endMs - ownerWakeMsMax - clock.monotonicMs());
  const location = await locateDevice(deps, cluster, 'sleep', request.deviceId, findMs);
  const { owner, slots } = location;
  if (owner === 'here') return doWakeup(deps, request, location);
  if (owner === 'nowhere')
    return (await wakeFound(deps, cluster, request, slots, endMs)) ?? doWakeup(deps, request);
  if (owner === 'unavailable') return 'unavailable';
  if (owner === 'lost') return 'nobody';
  const asked = await wakeAt(deps, cluster, owner.member, request, slots, endMs);
  return asked === 'absent' ? ((await wakeFound(deps, cluster, request, slots, endMs)) ?? 'absent') : asked;
}

async function wakeAt(
  { clock }: WakeupDeps,
  { peers }: ClusterDeps,
  member: MemberId,
  request: WakeupRequest,
  slots: DeviceSlots,
  endMs: number,
): Promise<Attempt> {
  const waitMs = Math.min(ownerWakeMsMax, endMs - clock.monotonicMs());
  const asked = await peers.ask<'wake'>(member, { kind: 'wake', request, slots }, waitMs);
  if (!asked.ok) return asked.error;
  return !asked.value.ok && asked.value.error.code === 40412 ? 'absent' : asked.value;
}

/** Wakes the device at a member where it just logged in, before the row shows it. Null: no member has it. */
async function wakeFound(
  deps: WakeupDeps,
  cluster: ClusterDeps,
  request: WakeupRequest,
  slots: DeviceSlots,
  endMs: number,
): Promise<Attempt | null> {
  const searchMs = Math.max(0, endMs - ownerWakeMsMax - deps.clock.monotonicMs());
  const member = await cluster.search.find('sleep', request, searchMs);
  return member === null ? null : wakeAt(deps, cluster, member, request, slots, endMs);
}

/** Counts refusals made here; the owner has counted its own answers. */
function answerOf(deps: WakeupDeps, result: Attempt): WakeupAnswer {
  switch (result) {
    case 'nobody':
    case 'unsent':
      return refuseWakeup(deps, retryable(50301, 'the member that has the device cannot be reached'));
    case 'unavailable':
      return refuseWakeup(
        deps,
        retryable(50301, 'the device cannot be located: the shared state is unavailable'),
      );
    case 'unanswered':
      return refuseWakeup(deps, refusal(50402));
    case 'absent':
      return fail(refusal(40412));
    default:
      return result;
  }
}
