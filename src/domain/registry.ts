/** Who may call, and which devices exist. Source: decisions.md, Registry and Permissions; running.md, Data. */
import type { AccessKeyId, ApplicationId, DeviceId, ProductId } from './ids.ts';

export const permissions = [
  'connectivity:read',
  'wakeup:write',
  'message:send',
  'call:read',
  'call:issue',
  'events:read',
] as const;
export type Permission = (typeof permissions)[number];
/** What a credential may hold: a permission, or all of them. */
export type Grant = Permission | '*';

export interface Application {
  readonly appId: ApplicationId;
  readonly name: string;
}

export interface Credential {
  readonly accessKeyId: AccessKeyId;
  readonly secretKey: string;
  readonly appId: ApplicationId;
  readonly grants: readonly Grant[];
  /** Unix seconds; valid while notBefore <= now < notAfter; null: unbounded. */
  readonly notBefore: number | null;
  readonly notAfter: number | null;
  readonly revoked: boolean;
}

export interface Product {
  readonly productId: ProductId;
  readonly appIds: readonly ApplicationId[];
}

export interface Device {
  readonly deviceId: DeviceId;
  readonly productId: ProductId;
  readonly secret: string;
  /** Unix seconds; expired when now >= it; null: never. */
  readonly expiresAt: number | null;
  readonly disabled: boolean;
}

export function isCredentialValid(credential: Credential, nowS: number): boolean {
  if (credential.revoked) return false;
  if (credential.notBefore !== null && nowS < credential.notBefore) return false;
  return credential.notAfter === null || nowS < credential.notAfter;
}

export function holdsPermission(credential: Credential, permission: Permission): boolean {
  return credential.grants.includes('*') || credential.grants.includes(permission);
}

export function isExpired(device: Device, nowS: number): boolean {
  return device.expiresAt !== null && nowS >= device.expiresAt;
}
