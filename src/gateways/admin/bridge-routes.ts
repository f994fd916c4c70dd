/** Changes of bridges by an operator. */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import type { BridgeId } from '../../model/ids.ts';
import type { Bridge } from '../../model/registry.ts';
import type { MissingEntry } from '../../storage/registry/entry-changes.ts';
import { parseEntry, writeEntry } from '../../storage/registry/registry-entry.ts';
import { generateBridgeKey, type RegistryWriter } from '../../storage/registry/registry-write.ts';
import {
  changeRoute,
  missingEntry,
  refuseEntry,
  type AdminReply,
  type AdminRoute,
} from '../ops/admin-route.ts';

export interface BridgeDeps {
  readonly writer: Pick<RegistryWriter, 'revokeBridge'> & {
    put(kind: 'bridge', bridge: Bridge): Promise<Result<Bridge, MissingEntry>>;
    remove(kind: 'bridge', id: string): Promise<Result<Bridge, MissingEntry>>;
  };
  /** Called after every change: a connected bridge may have lost its right to be one. */
  changed(): void;
}

const bridgeBody = z.strictObject({ bridge_id: z.string(), app_ids: z.array(z.string()).min(1) });
const bridgeRemoveBody = z.strictObject({ bridge_id: z.string().min(1) });
const bridgeRevokeBody = z.strictObject({ bridge_id: z.string().min(1), revoked: z.boolean().default(true) });

/**
 * `POST /v1/bridge/add` makes a bridge with a random key, which is answered once and stored as its hash only;
 * `POST /v1/bridge/revoke` refuses its key from now on, or with `revoked` false accepts it again; `POST /v1/bridge/remove`
 * forgets it.
 */
export function bridgeRoutes(deps: BridgeDeps): AdminRoute[] {
  return [
    changeRoute(
      '/v1/bridge/add',
      bridgeBody,
      { action: 'bridge.add', asked: ['bridge_id', 'app_ids'] },
      (body) => addBridge(deps, body),
    ),
    changeRoute(
      '/v1/bridge/revoke',
      bridgeRevokeBody,
      { action: 'bridge.revoke', asked: ['bridge_id'], answered: { revoked: 'bridge.revoked' } },
      async ({ bridge_id: id, revoked }) =>
        bridgeReply(deps, await deps.writer.revokeBridge(id as BridgeId, revoked)),
    ),
    changeRoute(
      '/v1/bridge/remove',
      bridgeRemoveBody,
      { action: 'bridge.remove', asked: ['bridge_id'] },
      async (body) => bridgeReply(deps, await deps.writer.remove('bridge', body.bridge_id)),
    ),
  ];
}

async function addBridge(deps: BridgeDeps, body: z.output<typeof bridgeBody>): Promise<AdminReply> {
  const { key, keySha256 } = generateBridgeKey();
  const parsed = parseEntry('bridge', { ...body, key_sha256: keySha256 });
  if (!parsed.ok) return refuseEntry(parsed.error);
  const added = await deps.writer.put('bridge', parsed.value);
  if (!added.ok) return missingEntry(added.error);
  deps.changed();
  return { status: 200, body: { bridge: writeEntry('bridge', added.value), key } };
}

function bridgeReply(deps: BridgeDeps, changed: Result<Bridge, MissingEntry>): AdminReply {
  if (!changed.ok) return missingEntry(changed.error);
  deps.changed();
  return { status: 200, body: { bridge: writeEntry('bridge', changed.value) } };
}
