/**
 * Executes a wakeup at the member that has the device's sleep session, or at the receiving member if none has. The order of checks
 * is contract: repeats, session (40412), module (40902), limits (42901), write (50204, 50301, 50402). Everything up to the write
 * happens in one turn, so that requests cannot interleave. Source: API doc, Endpoint 2; decisions.md, Wakeup.
 */
import { fail } from '../../lib/result.ts';
import type { DeviceActor } from '../devices/device-actor.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { UnclaimedSessions } from '../devices/unclaimed-sessions.ts';
import type { WakeupWatch } from './wakeup-watch.ts';
import { retryable, overload, refusal, type Refusal, type WakeupCode } from '../../model/codes.ts';
import type { RepeatableWakeup, WakeupReceipt, WakeupRequest } from '../../model/wakeup.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type { Peers } from '../ports/peers.ts';
import type { SleepConnection } from '../ports/device-sessions.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { ClusterDeps, DeviceLocation } from '../devices/locate-device.ts';
import type { WakeupLimits } from '../devices/request-limits.ts';
import type { WakeupAnswer, WakeupMemory } from './wakeup-memory.ts';
import type { WatchedWakeup } from './watched-wakeups.ts';
import { writeEverywhere, type SlotWrite } from './write-everywhere.ts';

export interface WakeupDeps extends CoreDeps {
  readonly directory: DeviceDirectory;
  readonly unclaimed: Pick<UnclaimedSessions, 'wait'>;
  readonly memory: WakeupMemory;
  readonly limits: WakeupLimits;
  readonly watch: WakeupWatch;
  readonly telemetry: Telemetry;
  readonly peers: Peers;
  readonly cluster: ClusterDeps | null;
  isDraining(): boolean;
}

type Elsewhere = Pick<DeviceLocation, 'others' | 'isOnline'>;

const nothingElsewhere: Elsewhere = { others: [], isOnline: false };

/**
 * A value, or a promise that settles within the write deadline (1 s; with other members 1.4 s), preceded by a wait of at most 2 s
 * for a session of the previous core. Throws, or rejects after that wait, when the store cannot be read.
 */
export function doWakeup(
  deps: WakeupDeps,
  request: WakeupRequest,
  elsewhere = nothingElsewhere,
): WakeupAnswer | Promise<WakeupAnswer> {
  const known = deps.memory.repeated(request);
  return known === null ? beginWakeup(deps, request, elsewhere) : answerKnown(deps, request, known);
}

export function answerKnown(
  { telemetry, memory }: WakeupDeps,
  request: WakeupRequest,
  known: WakeupAnswer | Promise<WakeupAnswer>,
): WakeupAnswer | Promise<WakeupAnswer> {
  telemetry.wakeup('repeated');
  if (!(known instanceof Promise)) return memory.answerRepeat(request, known);
  return known.then((first) => memory.answerRepeat(request, first));
}

/** Like `doWakeup`, without the lookup of repeats, which the caller made in this turn. */
export function beginWakeup(
  deps: WakeupDeps,
  request: WakeupRequest,
  elsewhere = nothingElsewhere,
): WakeupAnswer | Promise<WakeupAnswer> {
  if (deps.isDraining()) return refuseWakeup(deps, retryable(50301, 'this server is being stopped'));
  const actor = deps.directory.find(request.deviceId);
  const connection = actor?.findWakeable(request.customData !== null) ?? 40412;
  if (actor === null || connection === 40412) {
    const claimed = deps.unclaimed.wait(request.deviceId);
    return claimed === null ? refuseWakeup(deps, refusal(40412)) : awaitSession(deps, request, claimed);
  }
  const isElsewhere = connection === 40902 && elsewhere.others.length > 0;
  if (typeof connection === 'number' && !isElsewhere) return refuseWakeup(deps, refusal(connection));
  const isFull = !deps.memory.hasRoomFor(request) || deps.watch.isFull;
  const waitMs = isFull ? memoryFullRetryMs : deps.limits.acquire(request.appId, actor);
  if (waitMs > 0) return refuseWakeup(deps, overload(waitMs));
  const answer = write(deps, request, actor, typeof connection === 'number' ? null : connection, elsewhere);
  deps.memory.begin(request, answer);
  return answer;
}

/** The wakeup is not remembered meanwhile, so repeats wait as well. */
async function awaitSession(
  deps: WakeupDeps,
  request: WakeupRequest,
  claimed: Promise<boolean>,
): Promise<WakeupAnswer> {
  if (await claimed) return doWakeup(deps, request);
  return refuseWakeup(deps, retryable(50301, 'the edge of the device has not handed over its session yet'));
}

/** The memory and the watch free room once per second at the earliest. */
const memoryFullRetryMs = 1000;

/** Reads the signal state before the write: a later login may be its effect. */
async function write(
  deps: WakeupDeps,
  request: WakeupRequest,
  actor: DeviceActor,
  connection: SleepConnection | null,
  elsewhere: Elsewhere,
): Promise<WakeupAnswer> {
  const { limits, watch, telemetry } = deps;
  const carrierEpoch = connection === null ? (elsewhere.others[0]?.epoch ?? 0) : actor.epoch('sleep');
  const isOnline = actor.connection('signal') !== null || elsewhere.isOnline;
  const watched = watch.begin(request, carrierEpoch, isOnline);
  const result = await writeAll(deps, request, connection, elsewhere);
  limits.release();
  if (result === 'written') {
    const receipt = { deviceId: request.deviceId, acceptedAtMs: watch.written(watched) };
    const wakeup = repeatable(watched);
    notifyAccepted(deps, request, receipt, wakeup);
    telemetry.wakeup('accepted');
    return { ok: true, value: receipt, wakeup };
  }
  if (result === 'unknown') watch.unknown(watched);
  else watch.refused(watched);
  return { ...refuseWakeup(deps, refusals[result]), wakeup: repeatable(watched) };
}

function repeatable({ requestId, id, aliases }: WatchedWakeup): RepeatableWakeup {
  return { requestId, id, aliases };
}

function writeAll(
  { peers }: WakeupDeps,
  request: WakeupRequest,
  connection: SleepConnection | null,
  { others }: Elsewhere,
): Promise<SlotWrite> {
  if (connection !== null && others.length === 0) return connection.wake(request.customData);
  return writeEverywhere(peers, request, connection, others);
}

const refusals: Record<Exclude<SlotWrite, 'written'>, Refusal<WakeupCode>> = {
  refused: refusal(50204),
  unreachable: retryable(50301, 'the edge that holds the device cannot be reached'),
  unknown: refusal(50402),
  busy: retryable(42901),
  unwakeable: refusal(40902),
  absent: refusal(40412),
};

/** Notifies all members, so that each answers a repeat alike. */
function notifyAccepted(
  { peers }: WakeupDeps,
  { signature, signatureExpiresMs }: WakeupRequest,
  receipt: WakeupReceipt,
  wakeup: RepeatableWakeup,
): void {
  const wakeups = [{ signature, signatureExpiresMs, receipt, wakeup }];
  peers.notify('everybody', { kind: 'wakeups-accepted', wakeups });
}

/** Also counts the refusal. */
export function refuseWakeup(
  { telemetry }: { readonly telemetry: Telemetry },
  why: Refusal<WakeupCode>,
): WakeupAnswer {
  telemetry.wakeup(outcomeLabels[why.code] ?? 'refused');
  return fail(why);
}

const outcomeLabels: Partial<Record<WakeupCode, 'failed' | 'unknown'>> = {
  50204: 'failed',
  50402: 'unknown',
};
