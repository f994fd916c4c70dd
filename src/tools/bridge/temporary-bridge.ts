/** A bridge that a command adds to the registry of a running server for itself, and removes again. */
import { randomBytes } from 'node:crypto';
import type { OpsClient } from '../../cli/admin/ops-client.ts';

export interface TemporaryBridge {
  readonly bridgeId: string;
  readonly key: string;
  remove(): Promise<void>;
}

/** `appId`: of the application whose calls it may take. Rejects with a CommandError. */
export async function addTemporaryBridge(
  ops: Pick<OpsClient, 'change'>,
  prefix: string,
  appId: string,
): Promise<TemporaryBridge> {
  const bridgeId = `${prefix}-${randomBytes(3).toString('hex').toUpperCase()}`;
  const body = { bridge_id: bridgeId, app_ids: [appId] };
  const { key } = await ops.change<{ readonly key: string }>('/v1/bridge/add', body);
  const remove = async (): Promise<void> =>
    void (await ops.change('/v1/bridge/remove', { bridge_id: bridgeId }));
  return { bridgeId, key, remove };
}
