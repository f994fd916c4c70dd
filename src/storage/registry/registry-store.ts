/**
 * Registry reads of the request path. Recently read entries stay decoded until `purge`: all credentials and products, and as many
 * devices as a busy backend asks about; others are read from the memory map, so a million devices cost no heap. Misses are not
 * cached: unknown ids must not evict known ones. Bridges are looked up by key, so all of them are cached together.
 */
import { LRUCache } from 'lru-cache';
import type { AccessKeyId, ApplicationId, DeviceId, ProductId } from '../../model/ids.ts';
import type { Bridge, Credential, Device, Product } from '../../model/registry.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import type { DeviceLister, DeviceScanner, ScannedDevices } from '../../core/ports/device-registry.ts';
import { countEntries } from '../lmdb/environment.ts';
import { DeviceScan } from './device-scan.ts';
import { byKind } from './import-changes.ts';
import type { EntryOf, KindName } from './registry-kinds.ts';
import type { RegistryTables } from './registry-tables.ts';
import {
  credentialsCachedMax,
  devicesCachedMax,
  productsCachedMax,
  bridgesKnownMax,
} from '../lmdb/store-limits.ts';

export class RegistryStore implements RegistryReader, DeviceLister, DeviceScanner {
  readonly #tables: RegistryTables;
  readonly #bridgesMax: number;
  readonly #credentials = new LRUCache<AccessKeyId, Credential>({ max: credentialsCachedMax });
  readonly #devices = new LRUCache<DeviceId, Device>({ max: devicesCachedMax });
  readonly #products = new LRUCache<ProductId, Product>({ max: productsCachedMax });
  #onCredentials: (changed: readonly AccessKeyId[] | null) => Promise<void> = () => Promise.resolve();
  #inForce = Promise.resolve();
  /** Proving a login and its event read the device one after the other. */
  #lastPeeked: Device | null = null;
  #changes = 0;
  #bridges: BridgesByKey | null = null;
  /** Null: no search has read devices. */
  #scan: DeviceScan | null = null;

  /** `bridgesMax`: beyond it `findBridges` throws. */
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

  /** Uses `peek`: updating the recency of an entry costs more than reading an evicted one again. */
  findDevice(deviceId: DeviceId): Device | null {
    const cached = this.#devices.peek(deviceId);
    if (cached !== undefined) return cached;
    const device = this.#tables.find('device', deviceId);
    if (device !== null) this.#devices.set(deviceId, device);
    return device;
  }

  peekDevice(deviceId: DeviceId): Device | null {
    const cached = this.#devices.peek(deviceId);
    if (cached !== undefined) return cached;
    if (this.#lastPeeked?.deviceId !== deviceId) this.#lastPeeked = this.#tables.find('device', deviceId);
    return this.#lastPeeked;
  }

  countDevices(appId: ApplicationId): number {
    return this.#tables.countDevices(appId);
  }

  /** Throws when the store cannot be read, or holds too many bridges. */
  findBridges(keySha256: string): readonly Bridge[] {
    this.#bridges ??= gatherBridges(this.#tables, this.#bridgesMax);
    return this.#bridges.get(keySha256) ?? [];
  }

  /** Any entry by its id, bypassing the caches; a webhook's id is application id, line feed, URL. */
  find<Kind extends KindName>(kind: Kind, id: string): EntryOf[Kind] | null {
    return this.#tables.find(kind, id);
  }

  /** At most `limit` entries, ordered by the bytes of their ids; `after`: id of the last one seen. */
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

  scan(after: string | null, until: string | null): ScannedDevices {
    this.#scan ??= new DeviceScan(this.#tables.kinds.device);
    return this.#scan.read(after, until);
  }

  counts(): Record<KindName, number> {
    return byKind((kind) => countEntries(this.#tables.kinds[kind]));
  }

  allCredentials(): readonly Credential[] {
    return Array.from(this.#tables.entries('credential'));
  }

  /** `listener` resolves when all holders of credentials have the changes. Null: any may have changed. */
  onCredentials(listener: (changed: readonly AccessKeyId[] | null) => Promise<void>): void {
    this.#onCredentials = listener;
  }

  /** Counts imports, each of which may change any number of devices. */
  get changes(): number {
    return this.#changes;
  }

  /** Resolves when all earlier changes are in force wherever credentials are cached. */
  get inForce(): Promise<void> {
    return this.#inForce;
  }

  isEmpty(): boolean {
    return Object.values(this.counts()).every((count) => count === 0);
  }

  /** Call after every change of any thread: the next read sees it. `credentials`: the changed ones; null: any. */
  purge(credentials: readonly AccessKeyId[] | null = null): void {
    if (credentials === null) this.#changes += 1;
    this.#credentials.clear();
    this.#products.clear();
    this.#devices.clear();
    this.#lastPeeked = null;
    this.#bridges = null;
    this.#tables.environment.refresh();
    if (credentials?.length !== 0) this.#inForce = this.#onCredentials(credentials);
  }
}

type BridgesByKey = ReadonlyMap<string, readonly Bridge[]>;

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
