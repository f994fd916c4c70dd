/**
 * Bridges on the ops listener: `POST /v1/bridge/add` makes one with a random key, which is answered once and stored as its
 * hash only; `POST /v1/bridge/revoke` refuses its key from now on, or with `revoked` false accepts it again.
 */
import { z } from 'zod';
import type { BridgeId } from '../../model/ids.ts';
import { changeRoute, missingEntry, type AdminReply, type AdminRoute } from '../ops/admin-route.ts';
import { generateBridgeKey } from '../../storage/registry/generated-secrets.ts';
import { parseEntry, writeEntry } from '../../storage/registry/registry-entry.ts';
import type { RegistryWriter } from '../../storage/registry/registry-write.ts';

export interface BridgeDeps {
  readonly writer: Pick<RegistryWriter, 'putBridge' | 'revokeBridge'>;
  /** Called after every change: a connected bridge may have lost its right to be one. */
  changed(): void;
}

const addBody = z.strictObject({ bridge_id: z.string(), app_ids: z.array(z.string()).min(1) });
const revokeBody = z.strictObject({ bridge_id: z.string(), revoked: z.boolean().default(true) });

export function bridgeRoutes(deps: BridgeDeps): AdminRoute[] {
  return [
    changeRoute(
      '/v1/bridge/add',
      addBody,
      { action: 'bridge.add', asked: ['bridge_id', 'app_ids'] },
      (body) => add(deps, body),
    ),
    changeRoute(
      '/v1/bridge/revoke',
      revokeBody,
      { action: 'bridge.revoke', asked: ['bridge_id'], answered: { revoked: 'bridge.revoked' } },
      (body) => revoke(deps, body),
    ),
  ];
}

async function add(deps: BridgeDeps, body: z.output<typeof addBody>): Promise<AdminReply> {
  const { key, keySha256 } = generateBridgeKey();
  const parsed = parseEntry('bridge', { ...body, key_sha256: keySha256 });
  if (!parsed.ok) return { status: 400, body: { error: `${parsed.error.field} ${parsed.error.reason}` } };
  const added = await deps.writer.putBridge(parsed.value);
  if (!added.ok) return missingEntry(added.error);
  deps.changed();
  return { status: 200, body: { bridge: writeEntry('bridge', added.value), key } };
}

async function revoke(deps: BridgeDeps, body: z.output<typeof revokeBody>): Promise<AdminReply> {
  const revoked = await deps.writer.revokeBridge(body.bridge_id as BridgeId, body.revoked);
  if (!revoked.ok) return missingEntry(revoked.error);
  deps.changed();
  return { status: 200, body: { bridge: writeEntry('bridge', revoked.value) } };
}
