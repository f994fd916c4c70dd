/** What another node has changed of the registry comes into force here: nothing is kept of what was, nobody stays who may not. */
import type { AppliedChanges } from '../../storage/registry/mirrored-rows.ts';
import type { ControlPlane } from '../bootstrap/control-plane.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';

export function applyRegistryChanges(
  context: ServerContext,
  controlPlane: Pick<ControlPlane, 'registryApplied'>,
  { credentials }: AppliedChanges,
): void {
  const { registry, signingKeys } = context;
  registry.purge();
  for (const accessKeyId of credentials) signingKeys.purge(accessKeyId);
  controlPlane.registryApplied();
}
