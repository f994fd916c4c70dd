/**
 * Issues the credentials that a device needs to join a call: the session's peer id and a new token. A repeat for the same
 * application, device and room returns the same session. The order of checks is contract: room in a token (40003), access, drain
 * and store (50301), a required bridge (50301), media in use (40903), room for the session (42901). Everything up to the session
 * happens in one turn; the session is committed before the answer.
 *
 * A repeated signature is the same request: it gets the first answer while that session lives, and never opens another. In a
 * cluster, the member that has the device's calls issues them, and others forward the request to it. Source: calls-and-media.md,
 * Credential issuance; cluster.md, Media.
 */
import { wallSeconds, type Clock, completesWithin } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { CallDirectory } from './call-directory.ts';
import { hasTokenRoom, signCallToken } from '../../protocol/call-token/call-token.ts';
import type { TokenKeys } from '../../protocol/call-token/token-keys.ts';
import type { CallMedia, CallOrder, CallSession, SignedCallOrder } from '../../model/call.ts';
import { retryable, refusal, type CallCredentialsCode, type Refusal } from '../../model/codes.ts';
import { generateTokenId, type ApplicationId, type DeviceId, type SessionId } from '../../model/ids.ts';
import { callCommitMsMax, issuancesKnownMax } from '../../model/limits.ts';
import { encodingOf, type SoundEncoding } from '../../model/media/sound.ts';
import type { PeerNotice } from '../../protocol/cluster/peer-message.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type { CallCoordinator, CallLocator } from '../ports/call-locator.ts';
import type { CallRecords } from '../ports/records.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { type CallCredentials, encodePeerId } from '../../protocol/rest/call-credentials.ts';
import { checkDeviceAccess } from '../devices/device-access.ts';
import { AnswerMemory, isFinal } from '../messages/answer-memory.ts';

export interface CallCredentialsDeps extends CoreDeps {
  readonly directory: CallDirectory;
  readonly records: CallRecords;
  readonly bridges: { hasIdleFor(appId: ApplicationId): boolean };
  readonly requireBridge: boolean;
  readonly keys: TokenKeys;
  /** URL of the media listener that carries the call; null: unknown. */
  mediaUrl(sessionId: SessionId): string | null;
  /** Sound encodings that this member's media processes can produce; null: unknown. */
  soundEncoders(): readonly SoundEncoding[] | null;
  readonly addressInPeerId: boolean;
  readonly issued: IssuedCalls;
  readonly telemetry: Telemetry;
  readonly callLocator: Pick<CallLocator, 'issuerOf' | 'ask'>;
  /** True while the server stops: no session is issued or renewed. */
  isDraining(): boolean;
}

type Why = Refusal<CallCredentialsCode>;
type Answer = Result<CallCredentials, Why>;

/** Settles within 2 s; never rejects. */
export async function issueCallCredentials(
  deps: CallCredentialsDeps,
  order: SignedCallOrder,
): Promise<Answer> {
  try {
    const denied = findDenial(deps, order);
    if (denied !== null) return refuse(deps, denied);
    const placed = deps.callLocator.issuerOf(order.deviceId);
    const coordinator = placed instanceof Promise ? await placed : placed;
    if (coordinator !== 'here') return await issueElsewhere(deps, coordinator, order);
    return await issueHere(deps, order);
  } catch (error) {
    deps.log.error(
      { err: error },
      'call credentials: not issued: registry or store unreadable; answered 50000',
    );
    return refuse(deps, refusal(50000));
  }
}

async function issueElsewhere(
  deps: CallCredentialsDeps,
  coordinator: Exclude<CallCoordinator, 'here'>,
  order: SignedCallOrder,
): Promise<Answer> {
  if (coordinator === 'unavailable')
    return refuse(deps, retryable(50301, 'the member that has the calls of the device cannot be reached'));
  const question = { kind: 'issue-call', order } as const;
  const answer = await deps.callLocator.ask<'issue-call'>(coordinator, question, callCommitMsMax);
  if (!answer.ok)
    return refuse(deps, retryable(50301, 'the member that has the calls of the device does not answer'));
  return answer.value.ok ? succeed(answer.value.value) : refuse(deps, answer.value.error);
}

async function issueHere(deps: CallCredentialsDeps, order: SignedCallOrder): Promise<Answer> {
  const { issued } = deps;
  const known = issued.repeated(order);
  if (known !== null) return repeat(deps, await known);
  // Checks again: the registry may have changed while the coordinator was located.
  const obstacle = findDenial(deps, order) ?? findObstacle(deps, order);
  if (obstacle !== null) return refuse(deps, obstacle);
  const answer = issue(deps, order);
  issued.begin(order, answer);
  return withoutSession(await answer);
}

/** This member has the device's calls, so a session that is not found here has ended. */
function repeat(deps: CallCredentialsDeps, first: IssuedAnswer): Answer {
  if (first.ok && !deps.directory.isLive(first.value.sessionId)) return refuse(deps, ended);
  deps.telemetry.callCredentials('repeated');
  return withoutSession(first);
}

function withoutSession(answer: IssuedAnswer): Answer {
  if (!answer.ok) return answer;
  const { sessionId: _, ...credentials } = answer.value;
  return succeed(credentials);
}

const ended: Why = refusal(
  40903,
  'this request was answered before, and its call has ended: sign a new request',
);

function findDenial({ clock, registry }: CallCredentialsDeps, order: CallOrder): Why | null {
  if (!hasTokenRoom(order.deviceId)) return refusal(40003, noTokenRoom);
  const denied = checkDeviceAccess(registry, order.appId, order.deviceId, wallSeconds(clock));
  return denied === null ? null : refusal(denied);
}

/** The reason to refuse, found before any change; null: none. */
function findObstacle(deps: CallCredentialsDeps, order: SignedCallOrder): Why | null {
  const { records } = deps;
  if (deps.isDraining()) return retryable(50301, 'this server is being stopped');
  if (records.isOverloaded()) return retryable(50301, 'the call store is overloaded');
  if (deps.requireBridge && !findsBridge(deps, order)) return retryable(50301, 'no bridge is idle');
  if (!deps.issued.hasRoomFor(order))
    return retryable(42901, 'too many issued calls are remembered: retry later');
  return null;
}

const noTokenRoom = 'device_id must fit into a call token: use fewer control characters';

function findsBridge({ directory, bridges }: CallCredentialsDeps, order: CallOrder): boolean {
  const known = directory.findIssued(order);
  return (known !== null && directory.hasBridge(known.sessionId)) || bridges.hasIdleFor(order.appId);
}

async function issue(deps: CallCredentialsDeps, order: CallOrder): Promise<IssuedAnswer> {
  const issued = deps.directory.issue(order);
  if (issued.kind === 'media_in_use') return refuse(deps, refusal(40903));
  if (issued.kind === 'full') return refuse(deps, retryable(42901, 'too many calls are live: retry later'));
  const { kind, session } = issued;
  const committed = isSoonCommitted(deps, order.deviceId);
  const token = sign(deps, session);
  if (!(await committed)) return refuse(deps, retryable(50301, 'the call store does not answer'));
  deps.telemetry.callCredentials(kind);
  const mediaUrl = deps.mediaUrl(session.sessionId);
  const peerId = encodePeerId(session, deps.addressInPeerId ? mediaUrl : null);
  const note = soundNote(deps.soundEncoders(), session.media);
  return succeed({
    sessionId: session.sessionId,
    peerId,
    token,
    mediaUrl,
    ...(note !== null && { note }),
  });
}

/** Null: the sound can be converted from any input, as far as known. */
function soundNote(
  encoders: readonly SoundEncoding[] | null,
  { downAudio, audioRate }: CallMedia,
): string | null {
  if (encoders === null || encoders.includes(encodingOf({ format: downAudio, rate: audioRate }))) return null;
  return (
    `success, but no sound is converted to ${downAudio} of ${audioRate} Hz here, for want of an encoder: ` +
    `the device hears what the bridge sends as ${downAudio}`
  );
}

/** False: the state of the device's calls was not committed within 2 s. */
export function isSoonCommitted(
  { clock, records }: { readonly clock: Clock; readonly records: Pick<CallRecords, 'committed'> },
  deviceId: DeviceId,
): true | Promise<boolean> {
  const committed = records.committed(deviceId);
  return committed === null || completesWithin(clock, callCommitMsMax, committed);
}

function sign({ clock, keys }: CallCredentialsDeps, session: CallSession): string {
  const { deviceId, sessionId, expiresAtMs } = session;
  const issuedAtS = wallSeconds(clock);
  const expiresAtS = expiresAtMs / 1000;
  return signCallToken(keys, { deviceId, sessionId, tokenId: generateTokenId(), issuedAtS, expiresAtS });
}

function refuse(deps: CallCredentialsDeps, why: Why): Result<never, Why> {
  deps.telemetry.callCredentials('refused');
  return fail(why);
}

export interface IssuedCall extends CallCredentials {
  readonly sessionId: SessionId;
}

export type IssuedAnswer = Result<IssuedCall, Refusal<CallCredentialsCode>>;

export type CallIssued = Extract<PeerNotice, { kind: 'call-issued' }>;

/**
 * Remembers issued calls by their signatures, so that a replayed request opens no call. Kept by the member that has the device's
 * calls; members notify each other, since another may issue the device's next call. Source: tgv1-signing.md, Replay.
 */
export class IssuedCalls extends AnswerMemory<IssuedAnswer> {
  /** `notifyOthers`: sends to the members that a repeat may reach; must not throw. */
  constructor(clock: Clock, notifyOthers: (issued: CallIssued) => void, knownMax = issuancesKnownMax) {
    super(clock, knownMax, isFinal, (request, answer) => {
      if (answer.ok) notifyOthers({ kind: 'call-issued', ...request, ...answer.value });
    });
  }

  /** Records a call that another member issued; exceeds the local bound, since that member kept to its own. */
  recordIssued({ sessionId, peerId, token, mediaUrl, note, ...request }: CallIssued): void {
    this.keep(request, succeed({ sessionId, peerId, token, mediaUrl, ...(note !== undefined && { note }) }));
  }
}
