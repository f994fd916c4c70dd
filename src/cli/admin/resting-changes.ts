/** Changes to the registry of a store at rest, each a line in the audit log of its directory. */
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import type { Result } from '../../lib/result.ts';
import type { AccessKeyId, BridgeId, DeviceId } from '../../model/ids.ts';
import type { Credential, Device } from '../../model/registry.ts';
import type { EntryRules, JsonObject } from '../../storage/registry/entry-reader.ts';
import { generateBridgeKey } from '../../storage/registry/generated-secrets.ts';
import type { Store } from '../../storage/lmdb/open-store.ts';
import { parseEntry, writeEntry } from '../../storage/registry/registry-entry.ts';
import { maskSecrets } from '../../storage/registry/registry-export.ts';
import type { EntryOf, KindName } from '../../storage/registry/registry-kinds.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import {
  RegistryWriter,
  type CredentialTerms,
  type MissingEntry,
} from '../../storage/registry/registry-write.ts';
import { CommandError, usageError } from '../shell/command-error.ts';
import type { FreshBridge, RegistryChanges } from './registry-changes.ts';
import { RestingAudit } from './resting-audit.ts';

export class RestingChanges implements RegistryChanges {
  readonly #writer: RegistryWriter;
  readonly #clock: Clock;
  readonly #audit: RestingAudit;

  constructor({ directory, registry }: Pick<Store, 'directory' | 'registry'>, clock: Clock) {
    this.#writer = new RegistryWriter(registry, new RegistryStore(registry));
    this.#clock = clock;
    this.#audit = new RestingAudit(directory, clock);
  }

  putDevice(json: JsonObject, rules: EntryRules): Promise<JsonObject> {
    const { device_id, product_id, disabled } = json;
    return this.#audit.record('device.add', { device_id, product_id, disabled }, async () =>
      shownDevice(await this.#writer.putDevice(wellFormed('device', json, rules))),
    );
  }

  disableDevice(deviceId: string, disabled: boolean): Promise<JsonObject> {
    return this.#audit.record('device.disable', { device_id: deviceId, disabled }, async () =>
      shownDevice(await this.#writer.disableDevice(deviceId as DeviceId, disabled)),
    );
  }

  async createCredential(terms: CredentialTerms): Promise<JsonObject> {
    const ids = { app_id: terms.appId, permissions: terms.grants };
    const created = await this.#audit.record(
      'credential.create',
      ids,
      async () => entryOf(await this.#writer.createCredential(terms)),
      ({ accessKeyId }) => ({ result: 'ok', ids: { access_key_id: accessKeyId } }),
    );
    return writeEntry('credential', created);
  }

  async rotateCredential(accessKeyId: string, graceSeconds: number): Promise<JsonObject> {
    const oldNotAfter = wallSeconds(this.#clock) + graceSeconds;
    const rotate = async (): Promise<Credential> =>
      entryOf(await this.#writer.rotateCredential(accessKeyId as AccessKeyId, oldNotAfter));
    const rotated = await this.#audit.record(
      'credential.rotate',
      { access_key_id: accessKeyId, grace_s: graceSeconds },
      rotate,
      (fresh) => ({ result: 'ok', ids: { new_access_key_id: fresh.accessKeyId } }),
    );
    return writeEntry('credential', rotated);
  }

  async revokeCredential(accessKeyId: string): Promise<void> {
    await this.#audit.record('credential.revoke', { access_key_id: accessKeyId }, async () =>
      entryOf(await this.#writer.revokeCredential(accessKeyId as AccessKeyId)),
    );
  }

  addBridge(bridgeId: string, appIds: readonly string[]): Promise<FreshBridge> {
    const { key, keySha256 } = generateBridgeKey();
    const entry = { bridge_id: bridgeId, app_ids: appIds, key_sha256: keySha256 };
    return this.#audit.record('bridge.add', { bridge_id: bridgeId, app_ids: appIds }, async () => {
      const added = entryOf(await this.#writer.putBridge(wellFormed('bridge', entry)));
      return { bridge: writeEntry('bridge', added), key };
    });
  }

  revokeBridge(bridgeId: string, revoked: boolean): Promise<JsonObject> {
    return this.#audit.record('bridge.revoke', { bridge_id: bridgeId, revoked }, async () =>
      writeEntry('bridge', entryOf(await this.#writer.revokeBridge(bridgeId as BridgeId, revoked))),
    );
  }
}

function shownDevice(outcome: Result<Device, MissingEntry>): JsonObject {
  return maskSecrets(writeEntry('device', entryOf(outcome)));
}

function wellFormed<Kind extends KindName>(kind: Kind, json: JsonObject, rules?: EntryRules): EntryOf[Kind] {
  const parsed = parseEntry(kind, json, rules);
  if (!parsed.ok) throw usageError(`${parsed.error.field} ${parsed.error.reason}`);
  return parsed.value;
}

function entryOf<Entry>(outcome: Result<Entry, MissingEntry>): Entry {
  if (!outcome.ok) throw missing(outcome.error);
  return outcome.value;
}

function missing({ kind, id }: MissingEntry): CommandError {
  return new CommandError(`no ${kind} ${JSON.stringify(id)} in the registry`);
}
