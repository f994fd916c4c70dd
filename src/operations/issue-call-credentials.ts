/**
 * Gives a backend what a device needs to join a call: the session's peer id and a token of its own. Asked again for the
 * same application, device and room it answers for the same session. The order of checks is contract: room in a token
 * (40003), access, drain and store (50301), a bridge where one has to be there (50301), media in use (40903), room for
 * the session (42901). Up to the session everything happens in one turn; what is answered is committed first.
 * Where several members are one server, it is done by the one that keeps the device's calls, and asked of it.
 * Source: calls-and-media.md, Credential issuance; cluster.md, Media.
 */
import { wallSeconds, type Clock } from '../base/clock.ts';
import { fail, succeed, type Outcome } from '../base/outcome.ts';
import { settlesWithin } from '../base/settles-within.ts';
import type { CallDirectory } from '../actor/call-directory.ts';
import { hasTokenRoom, signCallToken } from '../call-token/call-token.ts';
import type { TokenKeys } from '../call-token/token-keys.ts';
import type { CallOrder, CallSession } from '../domain/call.ts';
import { refusal, type CallCredentialsCode, type Refusal } from '../domain/codes.ts';
import type { MemberId } from '../domain/cluster.ts';
import { generateTokenId, type ApplicationId, type DeviceId } from '../domain/ids.ts';
import { callCommitMsMax } from '../domain/limits.ts';
import type { PeerAnswer, PeerFailure } from '../domain/peer.ts';
import type { CallRecords } from '../ports/call-records.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import type { CallCredentials } from '../rest/call-credentials.ts';
import { encodePeerId } from '../rest/peer-id.ts';
import type { CallHome } from './call-homes.ts';
import { checkDeviceAccess } from './check-device-access.ts';

export interface CallCredentialsHouse {
  readonly clock: Clock;
  readonly registry: RegistryReader;
  readonly directory: CallDirectory;
  readonly records: CallRecords;
  readonly bridges: { hasIdleFor(appId: ApplicationId): boolean };
  /** No session without a bridge: it is there already, or one is idle. */
  readonly requireBridge: boolean;
  readonly keys: TokenKeys;
  readonly telemetry: Telemetry;
  readonly log: Log;
  /** Of several members; left out: every call is issued here. */
  readonly homes?: IssuingHomes | undefined;
  /** True while the server is being stopped: no session is begun or renewed. */
  isDraining(): boolean;
}

export interface IssuingHomes {
  /** `here` is to be followed by `settled`. Never rejects. */
  homeOf(deviceId: DeviceId): CallHome | Promise<CallHome>;
  settled(deviceId: DeviceId): void;
  /** Never rejects; within `waitMs`. */
  issueAt(
    member: MemberId,
    order: CallOrder,
    waitMs: number,
  ): Promise<Outcome<PeerAnswer<'issue-call'>, PeerFailure>>;
}

type Why = Refusal<CallCredentialsCode>;
type Answer = Outcome<CallCredentials, Why>;

/** Settles within 2 s and never rejects. */
export async function issueCallCredentials(house: CallCredentialsHouse, order: CallOrder): Promise<Answer> {
  try {
    const denied = findDenial(house, order);
    if (denied !== null) return refuse(house, denied);
    const home = house.homes === undefined ? 'here' : await house.homes.homeOf(order.deviceId);
    if (house.homes !== undefined && home !== 'here')
      return await issueElsewhere(house, house.homes, home, order);
    return await issueHere(house, order);
  } catch (error) {
    house.log.error({ err: error }, 'call credentials cannot be issued');
    return refuse(house, refusal(50000));
  }
}

async function issueElsewhere(
  house: CallCredentialsHouse,
  homes: IssuingHomes,
  home: Exclude<CallHome, 'here'>,
  order: CallOrder,
): Promise<Answer> {
  if (home === 'away')
    return refuse(house, unavailable('who keeps the calls of the device cannot be reached'));
  const answer = await homes.issueAt(home, order, callCommitMsMax);
  if (!answer.ok) return refuse(house, unavailable('who keeps the calls of the device does not answer'));
  return answer.value.ok ? succeed(answer.value.value) : refuse(house, answer.value.error);
}

async function issueHere(house: CallCredentialsHouse, order: CallOrder): Promise<Answer> {
  try {
    const obstacle = findObstacle(house, order);
    return obstacle === null ? await issue(house, order) : refuse(house, obstacle);
  } finally {
    house.homes?.settled(order.deviceId);
  }
}

/** Why this caller may not ask this. */
function findDenial({ clock, registry }: CallCredentialsHouse, order: CallOrder): Why | null {
  if (!hasTokenRoom(order.deviceId)) return refusal(40003, noTokenRoom);
  const denied = checkDeviceAccess(registry, order.appId, order.deviceId, wallSeconds(clock));
  return denied === null ? null : refusal(denied);
}

/** Why nothing can be issued, before anything has changed; null: nothing is in the way. */
function findObstacle(house: CallCredentialsHouse, order: CallOrder): Why | null {
  const { records } = house;
  if (house.isDraining()) return unavailable('this server is being stopped');
  if (records.isOverloaded()) return unavailable('the store of calls is behind');
  if (house.requireBridge && !findsBridge(house, order)) return unavailable('no bridge is idle');
  return null;
}

const noTokenRoom = 'device_id must not be so full of control characters that a token has no room for it';

function findsBridge({ directory, bridges }: CallCredentialsHouse, order: CallOrder): boolean {
  const known = directory.findIssued(order);
  return (known !== null && directory.hasBridge(known.sessionId)) || bridges.hasIdleFor(order.appId);
}

async function issue(house: CallCredentialsHouse, order: CallOrder): Promise<Answer> {
  const issued = house.directory.issue(order);
  if (issued.kind === 'media_in_use') return refuse(house, refusal(40903));
  if (issued.kind === 'full') return refuse(house, overload);
  const { kind, session } = issued;
  const [isCommitted, token] = await Promise.all([isSoonCommitted(house, order), sign(house, session)]);
  if (!isCommitted) return refuse(house, unavailable('the store of calls does not answer'));
  house.telemetry.callCredentials(kind);
  return succeed({ peerId: encodePeerId(session), token });
}

function isSoonCommitted(
  { clock, records }: CallCredentialsHouse,
  order: CallOrder,
): true | Promise<boolean> {
  const committed = records.committed(order.deviceId);
  return committed === null || settlesWithin(clock, callCommitMsMax, committed);
}

function sign({ clock, keys }: CallCredentialsHouse, session: CallSession): Promise<string> {
  const { deviceId, sessionId, expiresAtMs } = session;
  const issuedAtS = wallSeconds(clock);
  const expiresAtS = expiresAtMs / 1000;
  return signCallToken(keys, { deviceId, sessionId, tokenId: generateTokenId(), issuedAtS, expiresAtS });
}

/** A session that ends makes room, and a store that is behind catches up, within seconds. */
const comeAgainS = 1;

const overload: Why = {
  ...refusal(42901, 'as many calls are live as there may be'),
  retryAfterS: comeAgainS,
};

function unavailable(message: string): Why {
  return { ...refusal(50301, message), retryAfterS: comeAgainS };
}

function refuse(house: CallCredentialsHouse, why: Why): Answer {
  house.telemetry.callCredentials('refused');
  return fail(why);
}
