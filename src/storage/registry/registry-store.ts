/**
 * Reads of the registry on the request path. What was read lately is kept decoded until `purge`: all credentials and
 * products, for there are few, and as many devices as a busy backend asks about; the others come from the memory
 * map, so that a million of them cost no heap. An entry that is not there is not remembered: strangers' ids must not
 * push out ours. Bridges are asked for by their key, so all of them are kept together.
 */
import { LRUCache } from 'lru-cache';
import type { AccessKeyId, ApplicationId, DeviceId, ProductId } from '../../model/ids.ts';
import type { Bridge, Credential, Device, Product } from '../../model/registry.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import type { DeviceLister } from '../../core/ports/device-registry.ts';
import { countEntries } from '../lmdb/environment.ts';
import { byKind } from './import-changes.ts';
import type { EntryOf, KindName } from './registry-kinds.ts';
import type { RegistryTables } from './registry-tables.ts';
import {
  credentialsCachedMax,
  devicesCachedMax,
  productsCachedMax,
  bridgesKnownMax,
} from '../lmdb/store-limits.ts';

export class RegistryStore implements RegistryReader, DeviceLister {
  readonly #tables: RegistryTables;
  readonly #bridgesMax: number;
  readonly #credentials = new LRUCache<AccessKeyId, Credential>({ max: credentialsCachedMax });
  readonly #devices = new LRUCache<DeviceId, Device>({ max: devicesCachedMax });
  readonly #products = new LRUCache<ProductId, Product>({ max: productsCachedMax });
  #onCredentials: (changed: readonly AccessKeyId[] | null) => Promise<void> = () => Promise.resolve();
  #inForce = Promise.resolve();
  #changes = 0;
  /** Null: not needed since the last change. */
  #bridges: BridgesByKey | null = null;

  /** `bridgesMax`: with more of them in the registry none is found by its key. */
  constructor(tables: RegistryTables, bridgesMax = bridgesKnownMax) {
    this.#tables = tables;
    this.#bridgesMax = bridgesMax;
  }

  findCredential(accessKeyId: AccessKeyId): Credential | null {
    const cached = this.#credentials.get(accessKeyId);
    if (cached !== undefined) return cached;
    const credential = this.#tables.find('credential', accessKeyId);
    if (credential !== null) this.#credentials.set(accessKeyId, credential);
    return credential;
  }

  findProduct(productId: ProductId): Product | null {
    const cached = this.#products.get(productId);
    if (cached !== undefined) return cached;
    const product = this.#tables.find('product', productId);
    if (product !== null) this.#products.set(productId, product);
    return product;
  }

  /** A look at what is kept does not renew it: to note which was used last costs more than to read one again now and then. */
  findDevice(deviceId: DeviceId): Device | null {
    const cached = this.#devices.peek(deviceId);
    if (cached !== undefined) return cached;
    const device = this.#tables.find('device', deviceId);
    if (device !== null) this.#devices.set(deviceId, device);
    return device;
  }

  peekDevice(deviceId: DeviceId): Device | null {
    return this.#devices.peek(deviceId) ?? this.#tables.find('device', deviceId);
  }

  countDevices(appId: ApplicationId): number {
    return this.#tables.countDevices(appId);
  }

  /** Throws when the store cannot be read, or holds too many bridges. */
  findBridges(keySha256: string): readonly Bridge[] {
    this.#bridges ??= gatherBridges(this.#tables, this.#bridgesMax);
    return this.#bridges.get(keySha256) ?? [];
  }

  /** Any entry by its id, past the caches; a webhook's is application id, line feed, url. */
  find<Kind extends KindName>(kind: Kind, id: string): EntryOf[Kind] | null {
    return this.#tables.find(kind, id);
  }

  /** At most `limit` entries in the order of their ids' bytes; `after`: the id of the last one seen. */
  page<Kind extends KindName>(kind: Kind, limit: number, after?: string): EntryOf[Kind][] {
    return Array.from(this.#tables.entries(kind, after === undefined ? { limit } : { after, limit }));
  }

  devicesBehind(after: string | null, prefix: string, limit: number): readonly Device[] {
    const isBehind = after !== null && Buffer.compare(Buffer.from(after), Buffer.from(prefix)) >= 0;
    const range = isBehind ? { after, limit } : prefix === '' ? { limit } : { from: prefix, limit };
    const devices: Device[] = [];
    for (const device of this.#tables.entries('device', range)) {
      if (!device.deviceId.startsWith(prefix)) break;
      devices.push(device);
    }
    return devices;
  }

  counts(): Record<KindName, number> {
    return byKind((kind) => countEntries(this.#tables.kinds[kind]));
  }

  allCredentials(): readonly Credential[] {
    return Array.from(this.#tables.entries('credential'));
  }

  /** `listener` resolves when those who keep credentials elsewhere know the changed ones. Null: any may have changed. */
  onCredentials(listener: (changed: readonly AccessKeyId[] | null) => Promise<void>): void {
    this.#onCredentials = listener;
  }

  /** Grows with every import, which may change any number of devices. */
  get changes(): number {
    return this.#changes;
  }

  /** Resolves when a change before it is in force wherever credentials are kept. */
  get inForce(): Promise<void> {
    return this.#inForce;
  }

  isEmpty(): boolean {
    return Object.values(this.counts()).every((count) => count === 0);
  }

  /** After every change, by whatever thread: the next read sees it. `credentials`: those that changed; null: any may have. */
  purge(credentials: readonly AccessKeyId[] | null = null): void {
    if (credentials === null) this.#changes += 1;
    this.#credentials.clear();
    this.#products.clear();
    this.#devices.clear();
    this.#bridges = null;
    this.#tables.environment.refresh();
    if (credentials?.length !== 0) this.#inForce = this.#onCredentials(credentials);
  }
}

type BridgesByKey = ReadonlyMap<string, readonly Bridge[]>;

/** One walk through the table. */
function gatherBridges(tables: RegistryTables, bridgesMax: number): BridgesByKey {
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
