/** The bridges of the registry by the hash of their key, which is all that one shows that connects. */
import type { Bridge } from '../../model/registry.ts';
import type { RegistryTables } from './registry-tables.ts';
import { bridgesKnownMax } from '../lmdb/store-limits.ts';

export type BridgesByKey = ReadonlyMap<string, readonly Bridge[]>;

/** One walk through the table. Throws when the store cannot be read, or holds more bridges than `bridgesMax`. */
export function gatherBridges(tables: RegistryTables, bridgesMax = bridgesKnownMax): BridgesByKey {
  const byKey = new Map<string, Bridge[]>();
  let count = 0;
  for (const bridge of tables.entries('bridge')) {
    count += 1;
    if (count > bridgesMax) throw new Error(`the registry has more than ${bridgesMax} bridges`);
    const same = byKey.get(bridge.keySha256);
    if (same === undefined) byKey.set(bridge.keySha256, [bridge]);
    else same.push(bridge);
  }
  return byKey;
}
