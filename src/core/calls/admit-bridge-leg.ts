/** Whether a bridge is let in: its key, and the session it comes for, if it names one. Source: calls-and-media.md, Legs. */
import type { CallDirectory } from './call-directory.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { LegRefusal } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import { hashBridgeKey } from '../../model/registry.ts';
import type { BridgeAdmission } from '../ports/leg-service.ts';
import type { FetchCall } from './admit-device-leg.ts';
import { mayServe, type BridgeKeys } from './bridge-keys.ts';

interface BridgeLegDeps {
  readonly bridgeKeys: BridgeKeys;
  readonly directory: CallDirectory;
  readonly fetchCall?: FetchCall | undefined;
}

/**
 * `sessionText`: as it was written; null: none, it waits for a call. Another application's session is as unknown as
 * one that is not there. Rejects when the registry cannot be read.
 */
export async function admitBridgeLeg(
  { bridgeKeys, directory, fetchCall }: BridgeLegDeps,
  key: string,
  sessionText: string | null,
): Promise<Result<BridgeAdmission, LegRefusal>> {
  const keySha256 = hashBridgeKey(key);
  const rights = key === '' ? null : bridgeKeys.rightsOf(keySha256);
  if (rights === null) return fail('bridge_key');
  const admission = { bridgeId: rights.bridgeId, keySha256 };
  if (sessionText === null) return succeed({ ...admission, sessionId: null });
  if (directory.find(sessionText as SessionId) === null) await fetchCall?.(sessionText as SessionId, null);
  const session = directory.find(sessionText as SessionId);
  if (session === null || !mayServe(rights, session.appId)) return fail('unknown_session');
  return succeed({ ...admission, sessionId: session.sessionId });
}
