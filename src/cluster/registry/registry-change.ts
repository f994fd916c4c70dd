/**
 * A change of the registry as all nodes share it: kind, id and the store's row as bytes; null: the entry is gone. A removal
 * is a value too, so that a node that was cut off learns of it. Source: cluster.md, Registry.
 */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import { decodeVersioned, encodeVersioned } from '../../protocol/cluster/wire-values.ts';
import type { RegistryChange } from '../../core/ports/mirrored.ts';
import { hashedKey } from '../nats/nats-names.ts';

const idCharactersMax = 8192;
const registryChange = z
  .tuple([
    z.string().regex(/^[a-z]{1,32}$/),
    z.string().min(1).max(idCharactersMax),
    z.instanceof(Uint8Array).nullable(),
  ])
  .transform(([kind, id, row]): RegistryChange => ({ kind, id, row }));

export function encodeRegistryChange({ kind, id, row }: RegistryChange): Uint8Array {
  return encodeVersioned([kind, id, row]);
}

export function decodeRegistryChange(bytes: Uint8Array): Result<RegistryChange, string> {
  return decodeVersioned(bytes, registryChange);
}

/** The key of the entry in the bucket. */
export function registryKey({ kind, id }: RegistryChange): string {
  return `${kind}.${hashedKey(id)}`;
}
