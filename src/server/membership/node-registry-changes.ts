/** What another node has changed of the registry comes into force here: nothing is kept of what was, nobody stays who may not. */
import type { AppliedChanges } from '../../storage/registry/mirrored-applied.ts';
import type { Back } from '../bootstrap/back.ts';
import type { House } from '../bootstrap/house.ts';

export function applyRegistryChanges(
  house: House,
  back: Pick<Back, 'registryApplied'>,
  { credentials }: AppliedChanges,
): void {
  const { registry, signingKeys } = house;
  registry.purge();
  for (const accessKeyId of credentials) signingKeys.purge(accessKeyId);
  back.registryApplied();
}
