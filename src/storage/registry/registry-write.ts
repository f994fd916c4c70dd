/**
 * Single changes of the registry, and the first entries of an idle store. Each is one transaction on the writer thread, queued with
 * imports, and never blocks the loop; when its promise resolves it is committed and the next read sees it.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { SerialQueue } from '../../lib/collections/queues.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import type { DecidedChanges, DeviceReads, DeviceRegistry } from '../../core/ports/device-registry.ts';
import type { AccessKeyId, ApplicationId, DeviceId } from '../../model/ids.ts';
import { type Credential, type Device, hashBridgeKey } from '../../model/registry.ts';
import { registryNotices, type DeviceChange } from '../../model/state/registry-event.ts';
import type { EntryOf, KindName } from './registry-kinds.ts';
import { findMissing, type MissingEntry, type UsedKind } from './entry-changes.ts';
import { removeInWorker, type RemovalResult } from './registry-thread.ts';
import type { RegistryStore } from './registry-store.ts';
import type { RegistryTables } from './registry-tables.ts';

export type CredentialTerms = Pick<Credential, 'appId' | 'grants' | 'notBefore' | 'notAfter'>;

export class RegistryWriter implements DeviceRegistry {
  readonly #tables: RegistryTables;
  readonly #store: RegistryStore;
  readonly #changed: () => void;
  readonly #clock: Pick<Clock, 'wallMs'>;
  /** One thread at a time: a second one would only wait for the first. */
  readonly #removals = new SerialQueue();

  /** `changed`: called after every change, to share it with other nodes and publish its events. */
  constructor(
    tables: RegistryTables,
    store: RegistryStore,
    changed: () => void = () => undefined,
    clock: Pick<Clock, 'wallMs'> = new SystemClock(),
  ) {
    this.#tables = tables;
    this.#store = store;
    this.#changed = changed;
    this.#clock = clock;
  }

  /** Adds or replaces an entry. Fails with the first reference that does not exist. */
  put<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): Promise<Result<EntryOf[Kind], MissingEntry>> {
    return this.#change(() => this.#putChecked(kind, entry));
  }

  /** A device without labels keeps those of the entry that it replaces. */
  putDevice(device: Device): Promise<Result<Device, MissingEntry>> {
    return this.#change(() => {
      const { labels } = this.#tables.find('device', device.deviceId) ?? {};
      return this.#putChecked('device', labels === undefined ? device : { labels, ...device });
    });
  }

  changeDevices<Result>(
    by: ApplicationId,
    decide: (reads: DeviceReads) => DecidedChanges<Result>,
  ): Promise<Result> {
    const tables = this.#tables;
    const reads: DeviceReads = {
      findDevice: (deviceId) => tables.find('device', deviceId),
      findProduct: (productId) => tables.find('product', productId),
      countDevices: (appId) => tables.countDevices(appId),
    };
    return this.#change(() => {
      const { result, changes } = decide(reads);
      for (const change of changes) this.#putDevice(change, by);
      return result;
    });
  }

  /** `change` may move the device to another product. Fails if the device or that product does not exist. */
  changeDevice(
    deviceId: DeviceId,
    change: (device: Device) => Device,
  ): Promise<Result<Device, MissingEntry>> {
    return this.#changeFound('device', deviceId, (before) => this.#putChecked('device', change(before)));
  }

  /**
   * Creates a credential with a random id and secret. The secret is returned here, and shown later only by an export with secrets.
   */
  createCredential(terms: CredentialTerms): Promise<Result<Credential, MissingEntry>> {
    return this.put('credential', freshCredential(terms));
  }

  /**
   * Creates a second credential with the same application and permissions; the old one ends at `oldNotAfter` (Unix seconds) or at its
   * own end, if earlier, so that its users can switch in between.
   */
  rotateCredential(accessKeyId: AccessKeyId, oldNotAfter: number): Promise<Result<Credential, MissingEntry>> {
    return this.#changeFound('credential', accessKeyId, (old) => {
      const notAfter = Math.min(old.notAfter ?? oldNotAfter, oldNotAfter);
      this.#tables.put('credential', { ...old, notAfter });
      const fresh = freshCredential({ ...old, notBefore: null });
      this.#tables.put('credential', fresh);
      return succeed(fresh);
    });
  }

  /**
   * `change` must keep the entry's references. Fails if the entry does not exist. The caller ends sessions, bridges and derived keys
   * that lose their rights.
   */
  update<Kind extends KindName>(
    kind: Kind,
    id: string,
    change: (entry: EntryOf[Kind]) => EntryOf[Kind],
  ): Promise<Result<EntryOf[Kind], MissingEntry>> {
    return this.#changeFound(kind, id, (entry) => {
      const changed = change(entry);
      this.#put(kind, changed);
      return succeed(changed);
    });
  }

  /** Removes an entry without references to it; otherwise like `update`. */
  remove<Kind extends KindName>(kind: Kind, id: string): Promise<Result<EntryOf[Kind], MissingEntry>> {
    return this.#changeFound(kind, id, (entry) => {
      if (kind === 'device')
        this.#putDevice({ deviceId: id as DeviceId, before: entry as Device, after: null }, null);
      else this.#tables.remove(kind, id);
      return succeed(entry);
    });
  }

  /** Fails while other entries refer to it. Rejects when the store refuses. */
  async removeUnused(kind: UsedKind, id: string): Promise<RemovalResult> {
    const { directory } = this.#tables.environment;
    const result = await this.#removals.run(() => removeInWorker(directory, kind, id));
    this.#announceChange();
    return result;
  }

  transact<Result>(act: (tables: RegistryTables) => Result): Promise<Result> {
    return this.#change(() => act(this.#tables));
  }

  #putChecked<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): Result<EntryOf[Kind], MissingEntry> {
    const missing = findMissing(this.#tables, kind, entry);
    if (missing !== null) return fail(missing);
    this.#put(kind, entry);
    return succeed(entry);
  }

  #put<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): void {
    if (kind !== 'device') return void this.#tables.put(kind, entry);
    const after = entry as Device;
    const { deviceId } = after;
    this.#putDevice({ deviceId, before: this.#tables.find('device', deviceId), after }, null);
  }

  /** `by`: the application that makes the change; null: an operator. */
  #putDevice(change: DeviceChange, by: ApplicationId | null): void {
    const { deviceId, after } = change;
    if (after === null) this.#tables.remove('device', deviceId);
    else this.#tables.put('device', after);
    this.#tables.notices.put(registryNotices(change, { by, atMs: this.#clock.wallMs() }));
  }

  async #change<Result>(act: () => Result): Promise<Result> {
    const result = await this.#tables.environment.transaction(act);
    this.#announceChange();
    await this.#store.inForce;
    return result;
  }

  #changeFound<Kind extends KindName, Value>(
    kind: Kind,
    id: string,
    act: (entry: EntryOf[Kind]) => Result<Value, MissingEntry>,
  ): Promise<Result<Value, MissingEntry>> {
    return this.#change(() => {
      const entry = this.#tables.find(kind, id);
      return entry === null ? fail({ kind, id }) : act(entry);
    });
  }

  #announceChange(): void {
    this.#store.purge(this.#tables.drainChangedCredentials());
    this.#changed();
  }
}

function freshCredential({ appId, grants, notBefore, notAfter }: CredentialTerms): Credential {
  const accessKeyId = generateAccessKeyId();
  return { accessKeyId, secretKey: generateSecret(), appId, grants, notBefore, notAfter, revoked: false };
}

const secretBytes = 32;
const accessKeyIdBytes = 10;

/** 43 characters of base64url: 256 random bits. */
export function generateSecret(): string {
  return randomBytes(secretBytes).toString('base64url');
}

/** `AK` and 20 characters: 80 random bits. */
export function generateAccessKeyId(): AccessKeyId {
  return `AK${randomBytes(accessKeyIdBytes).toString('hex').toUpperCase()}` as AccessKeyId;
}

/** A bridge's key, returned once, and its stored hash. */
export function generateBridgeKey(): { readonly key: string; readonly keySha256: string } {
  const key = generateSecret();
  return { key, keySha256: hashBridgeKey(key) };
}
