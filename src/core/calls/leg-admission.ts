/**
 * The rules for admitting legs. A device presents its call's token, whose expiry applies to the first connect only and which is
 * revoked when the session ends. A bridge presents its key, and the session that it connects for, if any. Source:
 * calls-and-media.md, Legs and Credential issuance.
 */
import type { CallDirectory } from './call-directory.ts';
import { wallSeconds } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { checkCallToken } from '../../protocol/call-token/call-token.ts';
import type { TokenKeys } from '../../protocol/call-token/token-keys.ts';
import type { TokenRefusal, LegRefusal } from '../../model/call.ts';
import { type SessionId, parseBridgeId, type ApplicationId, type BridgeId } from '../../model/ids.ts';
import { isInService, hashBridgeKey } from '../../model/registry.ts';
import type { DeviceAdmission, BridgeAdmission, CallElsewhere } from '../ports/leg-service.ts';
import type { CallLocator } from '../ports/call-locator.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { timingSafeEqual } from 'node:crypto';
import { assert } from '../../lib/assert.ts';

interface DeviceLegDeps extends Pick<CoreDeps, 'clock' | 'registry'> {
  readonly keys: TokenKeys;
  readonly directory: CallDirectory;
  readonly callLocator: Pick<CallLocator, 'findElsewhere'>;
}

/** Checks the token, then the call and the registry. Rejects when the registry cannot be read. */
export async function admitDeviceLeg(
  deps: DeviceLegDeps,
  token: string,
): Promise<Result<DeviceAdmission, TokenRefusal | CallElsewhere>> {
  const checked = await checkCallToken(deps.keys, token);
  if (!checked.ok) return checked;
  const { deviceId, sessionId, tokenId, expiresAtS } = checked.value;
  const session = deps.directory.find(sessionId);
  const elsewhere = session === null ? await deps.callLocator.findElsewhere(sessionId) : null;
  if (elsewhere !== null) return fail({ mediaUrl: elsewhere.mediaUrl });
  const nowS = wallSeconds(deps.clock);
  const hasConnected = session !== null && session.connectedTokens.includes(tokenId);
  if (nowS >= expiresAtS && !hasConnected) return fail('expired');
  if (session === null) return fail('session_ended');
  const isTheirs = session.deviceId === deviceId && isInService(deps.registry.peekDevice(deviceId), nowS);
  if (!isTheirs) return fail('device');
  return succeed({ sessionId, appId: session.appId, deviceId, tokenId, media: session.media });
}

interface BridgeLegDeps {
  readonly bridgeKeys: BridgeKeys;
  readonly directory: CallDirectory;
  readonly callLocator: Pick<CallLocator, 'findElsewhere'>;
}

/**
 * `sessionText`: unparsed; null: the bridge waits for a call. A session of another application is answered like an unknown one.
 * Rejects when the registry cannot be read.
 */
export async function admitBridgeLeg(
  { bridgeKeys, directory, callLocator }: BridgeLegDeps,
  key: string,
  sessionText: string | null,
): Promise<Result<BridgeAdmission, LegRefusal | CallElsewhere>> {
  const keySha256 = hashBridgeKey(key);
  const rights = key === '' ? null : bridgeKeys.rightsOf(keySha256);
  if (rights === null) return fail('bridge_key');
  const admission = { bridgeId: rights.bridgeId, keySha256 };
  if (sessionText === null) return succeed({ ...admission, sessionId: null });
  const session = directory.find(sessionText as SessionId);
  const elsewhere = session === null ? await callLocator.findElsewhere(sessionText as SessionId) : null;
  if (elsewhere !== null && mayServe(rights, elsewhere.appId)) return fail({ mediaUrl: elsewhere.mediaUrl });
  if (session === null || !mayServe(rights, session.appId)) return fail('unknown_session');
  return succeed({ ...admission, sessionId: session.sessionId });
}

export interface BridgeRights {
  readonly bridgeId: BridgeId;
  /** Null: all applications. */
  readonly appIds: readonly ApplicationId[] | null;
}

/**
 * The keys of bridges: those of the registry, and the development keys of the settings, which serve all applications. Lookups use
 * the SHA-256 only, so that timing reveals nothing.
 */
export class BridgeKeys {
  readonly #registry: RegistryReader;
  readonly #developmentHashes: readonly Buffer[];

  constructor(registry: RegistryReader, developmentKeys: readonly string[]) {
    this.#registry = registry;
    this.#developmentHashes = developmentKeys.map((key) => Buffer.from(hashBridgeKey(key), 'hex'));
  }

  /** `keySha256`: from `hashBridgeKey`. Null: unknown or revoked. Throws when the registry cannot be read. */
  rightsOf(keySha256: string): BridgeRights | null {
    const developer = this.#findDeveloper(keySha256);
    if (developer !== null) return { bridgeId: developer, appIds: null };
    const bridges = this.#registry.findBridges(keySha256).filter(({ revoked }) => !revoked);
    const [bridge] = bridges;
    if (bridge === undefined) return null;
    // Bridges that share a key cannot be distinguished, and act as one.
    return { bridgeId: bridge.bridgeId, appIds: bridges.flatMap(({ appIds }) => appIds) };
  }

  #findDeveloper(keySha256: string): BridgeId | null {
    const hash = Buffer.from(keySha256, 'hex');
    const matches = this.#developmentHashes.map((known) => timingSafeEqual(known, hash));
    const index = matches.indexOf(true);
    return index === -1 ? null : developmentId(index + 1);
  }
}

export function mayServe({ appIds }: Pick<BridgeRights, 'appIds'>, appId: ApplicationId): boolean {
  return appIds === null || appIds.includes(appId);
}

function developmentId(number: number): BridgeId {
  const id = parseBridgeId(`dev-${number}`);
  assert(id !== null, 'a number makes an id');
  return id;
}
