/** The orders of a backend for its devices in the registry, and their outcomes. Source: docs/provisioning.md. */
import type { Result } from '../lib/result.ts';
import type { ProvisioningCode, Refusal } from './codes.ts';
import type { AccessKeyId, ApplicationId, DeviceId, ProductId } from './ids.ts';
import type { Device, Labels } from './registry.ts';
import type { SignedRequest } from './signed-request.ts';

/** A device as it is to be. `secret` null: one is made. */
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

/** What is left out stays. */
export interface DeviceModification {
  readonly kind: 'change';
  readonly deviceId: DeviceId;
  /** True: a new one is made. */
  readonly secret?: string | true;
  readonly expiresAt?: number | null;
  readonly disabled?: boolean;
  /** Laid over those that are there; null takes one away. */
  readonly labels?: Readonly<Record<string, string | null>>;
}

export interface DeviceRemoval {
  readonly kind: 'remove';
  readonly deviceId: DeviceId;
}

/** Of one device; of its kinds, one order has one only. */
export type DeviceOrder = DeviceAddition | DeviceModification | DeviceRemoval;

/** Who asked for it, as the audit log has it. */
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

/** What is shown of a device: all but its secret. */
export type DeviceEntry = Omit<Device, 'secret'>;

/**
 * Why one device is left as it is. 40003: its labels and those that are laid over them are too many. 42901: the application has
 * as many devices as it may have.
 */
export type DeviceOutcomeCode = 0 | 40003 | 40302 | 40403 | 40904 | 42901;

/** What became of one order. */
export interface DeviceOutcome {
  readonly deviceId: DeviceId;
  readonly code: DeviceOutcomeCode;
  /** As it is now, or was before it was removed; null: refused. */
  readonly device: DeviceEntry | null;
  /** A secret that was made, told this once; null: none was. */
  readonly secret: string | null;
  /** Something has changed by it. */
  readonly isChanged: boolean;
}

/** In the order of the orders. */
export type ProvisioningAnswer = Result<readonly DeviceOutcome[], Refusal<ProvisioningCode>>;

/** Carries a request out where the registry is changed. */
export type Provision = (request: ProvisioningRequest) => Promise<ProvisioningAnswer>;

/** A page that is asked for. */
export interface DeviceListing {
  readonly appId: ApplicationId;
  /** Null: of all products of the application. */
  readonly productId: ProductId | null;
  /** Of ids; empty: all. */
  readonly prefix: string;
  /** Null: both. */
  readonly isOnline: boolean | null;
  /** The last device that was looked at; null: from the first. */
  readonly after: DeviceId | null;
  readonly limit: number;
}

export interface DevicePage {
  readonly devices: readonly DeviceEntry[];
  /** Null: there are no more. */
  readonly next: DeviceId | null;
}

export function entryOf({ deviceId, productId, expiresAt, disabled, labels }: Device): DeviceEntry {
  const entry = { deviceId, productId, expiresAt, disabled };
  return labels === undefined ? entry : { ...entry, labels };
}
