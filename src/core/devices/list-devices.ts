/**
 * Lists an application's devices of the registry in pages. The registry has no index by product: a page scans a bounded number of
 * devices in the byte order of their ids, and ends with the cursor to continue from. All listings share one slice of scanning per
 * turn of the loop. The shared row says whether a device is online. Source: docs/provisioning.md.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { retryable, refusal, type DeviceListingCode, type Refusal } from '../../model/codes.ts';
import type { ApplicationId, DeviceId, ProductId } from '../../model/ids.ts';
import { ownerQueryMsMax } from '../../model/limits.ts';
import {
  devicesAskedAtOnce,
  devicesAskedMax,
  devicesLookedAtMax,
  listingsMax,
  listingsPerApplicationMax,
} from '../../model/provisioning-limits.ts';
import { entryOf, type DeviceListing, type DevicePage } from '../../model/provisioning.ts';
import { isOfApplication, type Device } from '../../model/registry.ts';
import { FairQueue, type Steps } from '../../lib/collections/fair-queue.ts';
import type { DeviceLister } from '../ports/device-registry.ts';
import type { Log } from '../../lib/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import { SharedStateUnavailable } from '../ports/session-locator.ts';
import type { DeviceDirectory } from './device-directory.ts';
import type { ClusterDeps } from './locate-device.ts';
import { SharedPlaces } from './shared-places.ts';

export interface DeviceListDeps {
  readonly registry: Pick<RegistryReader, 'findProduct'> & DeviceLister;
  readonly directory: Pick<DeviceDirectory, 'find'>;
  readonly log: Log;
  readonly cluster: Pick<ClusterDeps, 'peers' | 'locator'> | null;
}

type Answer = Result<DevicePage, Refusal<DeviceListingCode>>;

/** About 2 ms per turn, at 3 µs per device. */
const listQueueShape = { unitsPerTurn: 500, jobCost: 10, jobsMax: listingsPerApplicationMax };

export class DeviceList {
  readonly #deps: DeviceListDeps;
  readonly #queue = new FairQueue(listQueueShape);
  readonly #places = new SharedPlaces(listingsMax, listingsPerApplicationMax);

  constructor(deps: DeviceListDeps) {
    this.#deps = deps;
  }

  /** Never rejects. */
  async read(listing: DeviceListing): Promise<Answer> {
    const { appId, productId } = listing;
    if (!this.#places.acquire(appId)) return fail(retryable(42901, 'too many listings are under way'));
    try {
      if (productId !== null && !this.#isOwn(appId, productId))
        return fail(refusal(40302, 'product does not match the application'));
      return succeed(await this.#page(listing));
    } catch (error) {
      if (!(error instanceof SharedStateUnavailable))
        this.#deps.log.error(
          { err: error },
          'device list: not read: registry or shared row unreadable; answered 50301',
        );
      return fail(retryable(50301));
    } finally {
      this.#places.release(appId);
    }
  }

  #isOwn(appId: ApplicationId, productId: ProductId): boolean {
    return isOfApplication(this.#deps.registry.findProduct(productId), appId);
  }

  async #page(listing: DeviceListing): Promise<DevicePage> {
    const { appId, productId, isOnline, limit } = listing;
    const isAsked =
      productId === null
        ? (device: Device) => this.#isOwn(appId, device.productId)
        : (device: Device) => device.productId === productId;
    const wanted = isOnline === null ? limit : devicesAskedMax;
    const scan = new DeviceScan(this.#deps.registry, { ...listing, isAsked, wanted });
    await this.#queue.run(appId, scan);
    if (isOnline === null) return { devices: scan.found.map(entryOf), next: scan.next };
    const found = await this.#filter(scan.found, isOnline);
    const devices = found.slice(0, limit);
    const last = devices.at(-1)?.deviceId ?? null;
    return { devices: devices.map(entryOf), next: found.length > limit ? last : scan.next };
  }

  /** A few at a time, since each may take a question to the cluster. */
  async #filter(devices: readonly Device[], isOnline: boolean): Promise<Device[]> {
    const found: Device[] = [];
    for (let start = 0; start < devices.length; start += devicesAskedAtOnce) {
      const some = devices.slice(start, start + devicesAskedAtOnce);
      const online = await Promise.all(some.map(({ deviceId }) => this.#isOnline(deviceId)));
      found.push(...some.filter((_, at) => online[at] === isOnline));
    }
    return found;
  }

  async #isOnline(deviceId: DeviceId): Promise<boolean> {
    const { directory, cluster } = this.#deps;
    if ((directory.find(deviceId)?.connection('signal') ?? null) !== null) return true;
    if (cluster === null) return false;
    const { signal } = await cluster.locator.find(deviceId, ownerQueryMsMax);
    return signal.slots.some(({ member }) => member !== cluster.peers.self);
  }
}

interface ScanTerms extends Pick<DeviceListing, 'after' | 'prefix'> {
  readonly isAsked: (device: Device) => boolean;
  readonly wanted: number;
}

/** Minimum devices to scan, even for a small page: most are the application's own. */
const sliceMin = 32;

class DeviceScan implements Steps {
  readonly found: Device[] = [];
  readonly #lister: DeviceLister;
  readonly #terms: ScanTerms;
  #after: DeviceId | null;
  #scanned = 0;
  #isAtEnd = false;

  constructor(lister: DeviceLister, terms: ScanTerms) {
    this.#lister = lister;
    this.#terms = terms;
    this.#after = terms.after;
  }

  get isFinished(): boolean {
    return this.#isAtEnd || this.found.length >= this.#terms.wanted || this.#scanned >= devicesLookedAtMax;
  }

  /** Cursor of the next page; null: this is the last. */
  get next(): DeviceId | null {
    return this.#isAtEnd ? null : this.#after;
  }

  step(devicesMax: number): number {
    const { prefix, isAsked, wanted } = this.#terms;
    const needed = Math.max(sliceMin, wanted - this.found.length);
    const limit = Math.min(devicesMax, needed, devicesLookedAtMax - this.#scanned);
    const devices = this.#lister.devicesBehind(this.#after, prefix, limit);
    let scanned = 0;
    for (const device of devices) {
      if (this.found.length >= wanted) break;
      scanned += 1;
      this.#after = device.deviceId;
      if (isAsked(device)) this.found.push(device);
    }
    this.#scanned += scanned;
    this.#isAtEnd = scanned === devices.length && devices.length < limit;
    return devices.length;
  }
}
