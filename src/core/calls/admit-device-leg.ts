/**
 * Whether a device is let in to its call: the token itself (call-token/), then what a token cannot show. Its time
 * counts for the first connect; the end of its session revokes it. Source: calls-and-media.md, Credential issuance.
 */
import type { CallDirectory } from './call-directory.ts';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { checkCallToken } from '../../protocol/call-token/call-token.ts';
import type { TokenKeys } from '../../protocol/call-token/token-keys.ts';
import type { TokenRefusal } from '../../model/call.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { isInService } from '../../model/registry.ts';
import type { DeviceAdmission } from '../ports/leg-service.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';

interface DeviceLegDeps {
  readonly clock: Clock;
  readonly keys: TokenKeys;
  readonly directory: CallDirectory;
  readonly registry: RegistryReader;
  readonly fetchCall?: FetchCall | undefined;
}

/** Brings a call here that another member keeps. Never rejects. */
export type FetchCall = (sessionId: SessionId, deviceId: DeviceId | null) => Promise<void>;

/** Rejects when the registry cannot be read. */
export async function admitDeviceLeg(
  deps: DeviceLegDeps,
  token: string,
): Promise<Result<DeviceAdmission, TokenRefusal>> {
  const checked = await checkCallToken(deps.keys, token);
  if (!checked.ok) return checked;
  const { deviceId, sessionId, tokenId, expiresAtS } = checked.value;
  if (deps.directory.find(sessionId) === null) await deps.fetchCall?.(sessionId, deviceId);
  const session = deps.directory.find(sessionId);
  const nowS = wallSeconds(deps.clock);
  const hasConnected = session !== null && session.connectedTokens.includes(tokenId);
  if (nowS >= expiresAtS && !hasConnected) return fail('expired');
  if (session === null) return fail('session_ended');
  const isTheirs = session.deviceId === deviceId && isInService(deps.registry.peekDevice(deviceId), nowS);
  if (!isTheirs) return fail('device');
  return succeed({ sessionId, deviceId, tokenId, media: session.media });
}
