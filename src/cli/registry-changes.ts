/**
 * Changes to the registry, asked of the running server where one has the store, else made in the store at rest.
 * Entries are given and answered as a registry file has them. What cannot be done throws a CommandError.
 */
import { wallSeconds, type Clock } from '../base/clock.ts';
import type { Outcome } from '../base/outcome.ts';
import type { AccessKeyId, BridgeId, DeviceId } from '../domain/ids.ts';
import type { EntryRules, JsonObject } from '../store/entry-reader.ts';
import { generateBridgeKey } from '../store/generated-secrets.ts';
import { openStore } from '../store/open-store.ts';
import { parseEntry, writeEntry } from '../store/registry-entry.ts';
import type { EntryOf, KindName } from '../store/registry-kinds.ts';
import { RegistryStore } from '../store/registry-store.ts';
import type { RegistryTables } from '../store/registry-tables.ts';
import { RegistryWriter, type CredentialTerms, type MissingEntry } from '../store/registry-write.ts';
import { CommandError, usageError } from './command-error.ts';
import { opsClientOf, type OpsClient } from './ops-client.ts';
import { findRunningServer } from './running-server.ts';

export interface RegistryChanges {
  /** Adds the device, or replaces the one of that id. `rules` are those of the store at rest; a running server has its own. */
  putDevice(device: JsonObject, rules: EntryRules): Promise<JsonObject>;
  disableDevice(deviceId: string, disabled: boolean): Promise<JsonObject>;
  createCredential(terms: CredentialTerms): Promise<JsonObject>;
  /** The new one; the old one ends `graceSeconds` from now. */
  rotateCredential(accessKeyId: string, graceSeconds: number): Promise<JsonObject>;
  revokeCredential(accessKeyId: string): Promise<void>;
  /** Adds the bridge, or replaces the one of that id; its key is told here only. */
  addBridge(bridgeId: string, appIds: readonly string[]): Promise<FreshBridge>;
  revokeBridge(bridgeId: string, revoked: boolean): Promise<JsonObject>;
}

export interface FreshBridge {
  readonly bridge: JsonObject;
  readonly key: string;
}

/** Runs `act` with the changes of whoever has the store now. */
export async function changeRegistry<Result>(
  dataDirectory: string,
  clock: Clock,
  act: (changes: RegistryChanges) => Promise<Result>,
): Promise<Result> {
  const running = findRunningServer(dataDirectory);
  if (running !== null) return act(new LiveChanges(opsClientOf(running, dataDirectory)));
  const store = openStore(dataDirectory);
  try {
    return await act(new RestingChanges(store.registry, clock));
  } finally {
    await store.close();
  }
}

class LiveChanges implements RegistryChanges {
  readonly #ops: OpsClient;

  constructor(ops: OpsClient) {
    this.#ops = ops;
  }

  async putDevice(device: JsonObject): Promise<JsonObject> {
    return (await this.#ops.change<DeviceAnswer>('/v1/device/add', device)).device;
  }

  async disableDevice(deviceId: string, disabled: boolean): Promise<JsonObject> {
    const body = { device_id: deviceId, disabled };
    return (await this.#ops.change<DeviceAnswer>('/v1/device/disable', body)).device;
  }

  async createCredential({ appId, grants, notBefore, notAfter }: CredentialTerms): Promise<JsonObject> {
    const body = { app_id: appId, permissions: grants, not_before: notBefore, not_after: notAfter };
    return (await this.#ops.change<CredentialAnswer>('/v1/credential/create', body)).credential;
  }

  async rotateCredential(accessKeyId: string, graceSeconds: number): Promise<JsonObject> {
    const body = { access_key_id: accessKeyId, grace_s: graceSeconds };
    return (await this.#ops.change<CredentialAnswer>('/v1/credential/rotate', body)).credential;
  }

  async revokeCredential(accessKeyId: string): Promise<void> {
    await this.#ops.change('/v1/credential/revoke', { access_key_id: accessKeyId });
  }

  addBridge(bridgeId: string, appIds: readonly string[]): Promise<FreshBridge> {
    return this.#ops.change<FreshBridge>('/v1/bridge/add', { bridge_id: bridgeId, app_ids: appIds });
  }

  async revokeBridge(bridgeId: string, revoked: boolean): Promise<JsonObject> {
    const body = { bridge_id: bridgeId, revoked };
    return (await this.#ops.change<BridgeAnswer>('/v1/bridge/revoke', body)).bridge;
  }
}

interface DeviceAnswer {
  readonly device: JsonObject;
}

interface CredentialAnswer {
  readonly credential: JsonObject;
}

interface BridgeAnswer {
  readonly bridge: JsonObject;
}

class RestingChanges implements RegistryChanges {
  readonly #writer: RegistryWriter;
  readonly #clock: Clock;

  constructor(tables: RegistryTables, clock: Clock) {
    this.#writer = new RegistryWriter(tables, new RegistryStore(tables));
    this.#clock = clock;
  }

  async putDevice(device: JsonObject, rules: EntryRules): Promise<JsonObject> {
    return shown('device', await this.#writer.putDevice(wellFormed('device', device, rules)));
  }

  async disableDevice(deviceId: string, disabled: boolean): Promise<JsonObject> {
    return shown('device', await this.#writer.disableDevice(deviceId as DeviceId, disabled));
  }

  async createCredential(terms: CredentialTerms): Promise<JsonObject> {
    return shown('credential', await this.#writer.createCredential(terms));
  }

  async rotateCredential(accessKeyId: string, graceSeconds: number): Promise<JsonObject> {
    const oldNotAfter = wallSeconds(this.#clock) + graceSeconds;
    return shown('credential', await this.#writer.rotateCredential(accessKeyId as AccessKeyId, oldNotAfter));
  }

  async revokeCredential(accessKeyId: string): Promise<void> {
    entryOf(await this.#writer.revokeCredential(accessKeyId as AccessKeyId));
  }

  async addBridge(bridgeId: string, appIds: readonly string[]): Promise<FreshBridge> {
    const { key, keySha256 } = generateBridgeKey();
    const entry = { bridge_id: bridgeId, app_ids: appIds, key_sha256: keySha256 };
    return { bridge: shown('bridge', await this.#writer.putBridge(wellFormed('bridge', entry))), key };
  }

  async revokeBridge(bridgeId: string, revoked: boolean): Promise<JsonObject> {
    return shown('bridge', await this.#writer.revokeBridge(bridgeId as BridgeId, revoked));
  }
}

function wellFormed<Kind extends KindName>(kind: Kind, json: JsonObject, rules?: EntryRules): EntryOf[Kind] {
  const parsed = parseEntry(kind, json, rules);
  if (!parsed.ok) throw usageError(`${parsed.error.field} ${parsed.error.reason}`);
  return parsed.value;
}

function shown<Kind extends KindName>(kind: Kind, outcome: Outcome<EntryOf[Kind], MissingEntry>): JsonObject {
  return writeEntry(kind, entryOf(outcome));
}

function entryOf<Entry>(outcome: Outcome<Entry, MissingEntry>): Entry {
  if (!outcome.ok) throw missing(outcome.error);
  return outcome.value;
}

function missing({ kind, id }: MissingEntry): CommandError {
  return new CommandError(`no ${kind} ${JSON.stringify(id)} in the registry`);
}
