/**
 * Changes to the registry, and how they are asked of a running server. Entries are given and answered as a registry
 * file has them. What cannot be done throws a CommandError.
 */
import type { EntryRules, JsonObject } from '../../storage/registry/entry-reader.ts';
import type { CredentialTerms } from '../../storage/registry/registry-write.ts';
import type { OpsClient } from './ops-client.ts';

export interface RegistryChanges {
  /**
   * Adds the device, or replaces the one of that id. Of devices no secret is answered. `rules` are those of the store at
   * rest; a running server has its own.
   */
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

/** Asked of the running server. */
export class LiveChanges implements RegistryChanges {
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
