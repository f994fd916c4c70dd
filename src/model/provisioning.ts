/** A backend's orders for its devices in the registry, and their outcomes. Source: docs/provisioning.md. */
import type { Result } from '../lib/result.ts';
import type { ProvisioningCode, Refusal } from './codes.ts';
import type { AccessKeyId, ApplicationId, DeviceId, ProductId } from './ids.ts';
import type { Device, Labels } from './registry.ts';
import type { SignedRequest } from './signed-request.ts';

/** A device to be added. `secret` null: the server generates one. */
export interface DeviceAddition {
  readonly kind: 'add';
  readonly deviceId: DeviceId;
  readonly productId: ProductId;
  readonly secret: string | null;
  /** Unix seconds; null: never. */
  readonly expiresAt: number | null;
  readonly disabled: boolean;
  readonly labels: Labels | null;
}

/** Omitted terms stay unchanged. */
export interface DeviceModification {
  readonly kind: 'change';
  readonly deviceId: DeviceId;
  /** True: the server generates a new one. */
  readonly secret?: string | true;
  readonly expiresAt?: number | null;
  readonly disabled?: boolean;
  /** Merged into the existing labels; null removes one. */
  readonly labels?: Readonly<Record<string, string | null>>;
}

export interface DeviceRemoval {
  readonly kind: 'remove';
  readonly deviceId: DeviceId;
}

/** An order for one device; all orders of a request are of the same kind. */
export type DeviceOrder = DeviceAddition | DeviceModification | DeviceRemoval;

/** The caller in the audit log. */
export interface ProvisioningCaller {
  readonly appId: ApplicationId;
  readonly accessKeyId: AccessKeyId;
  /** Remote address. */
  readonly from: string;
}

export interface ProvisioningRequest extends SignedRequest {
  readonly caller: ProvisioningCaller;
  readonly orders: readonly DeviceOrder[];
}

/** A device without its secret, as shown to callers. */
export type DeviceEntry = Omit<Device, 'secret'>;

/** Result of one device. 40003: its labels and the new ones are too many. 42901: the application has its maximum of devices. */
export type DeviceOutcomeCode = 0 | 40003 | 40302 | 40403 | 40904 | 42901;

export interface DeviceOutcome {
  readonly deviceId: DeviceId;
  readonly code: DeviceOutcomeCode;
  /** The device now, or before its removal; null: refused. */
  readonly device: DeviceEntry | null;
  /** A generated secret, shown this once; null: none. */
  readonly secret: string | null;
  readonly isChanged: boolean;
}

/** In the order of the orders. */
export type ProvisioningAnswer = Result<readonly DeviceOutcome[], Refusal<ProvisioningCode>>;

export type Provision = (request: ProvisioningRequest) => Promise<ProvisioningAnswer>;

export interface DeviceListing {
  readonly appId: ApplicationId;
  /** Null: all products of the application. */
  readonly productId: ProductId | null;
  /** Prefix of ids; empty: all. */
  readonly prefix: string;
  /** Null: both. */
  readonly isOnline: boolean | null;
  /** The last device examined; null: start at the first. */
  readonly after: DeviceId | null;
  readonly limit: number;
}

export interface DevicePage {
  readonly devices: readonly DeviceEntry[];
  /** Null: the last page. */
  readonly next: DeviceId | null;
}

export function entryOf({ deviceId, productId, expiresAt, disabled, labels }: Device): DeviceEntry {
  const entry = { deviceId, productId, expiresAt, disabled };
  return labels === undefined ? entry : { ...entry, labels };
}
