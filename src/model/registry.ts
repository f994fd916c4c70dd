/** The registry: applications, credentials, products and devices. Source: decisions.md, Registry and Permissions; running.md, Data. */
import { createHash } from 'node:crypto';
import type { AccessKeyId, ApplicationId, BridgeId, DeviceId, ProductId } from './ids.ts';
import type { ProductDefaults } from './product-defaults.ts';

export const permissions = [
  'connectivity:read',
  'wakeup:write',
  'message:send',
  'call:read',
  'call:issue',
  'call:end',
  'events:read',
  'device:read',
  'device:write',
] as const;
export type Permission = (typeof permissions)[number];
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
  readonly defaults?: ProductDefaults;
}

export interface Device {
  readonly deviceId: DeviceId;
  readonly productId: ProductId;
  readonly secret: string;
  /** Unix seconds; expired when now >= it; null: never. */
  readonly expiresAt: number | null;
  readonly disabled: boolean;
  readonly labels?: Labels;
}

/** At least one entry. */
export type Labels = Readonly<Record<string, string>>;

/** A receiver of an application's events, identified by application and url. Source: events.md, Webhooks. */
export interface Webhook {
  readonly appId: ApplicationId;
  readonly url: string;
  readonly secret: string;
  /** Event types, or `*` for all. */
  readonly types: readonly string[];
}

/** A process that may join a room on behalf of a device. Source: calls-and-media.md, Media legs. */
export interface Bridge {
  readonly bridgeId: BridgeId;
  /** SHA-256 of its bearer key, 64 lowercase hex digits. */
  readonly keySha256: string;
  readonly appIds: readonly ApplicationId[];
  readonly revoked: boolean;
}

export function isCredentialValid(credential: Credential, nowS: number): boolean {
  if (credential.revoked) return false;
  if (credential.notBefore !== null && nowS < credential.notBefore) return false;
  return credential.notAfter === null || nowS < credential.notAfter;
}

/** True: the registry (`now`) still has the same credential, and it is valid. */
export function isStillValid(
  now: Credential | null,
  { secretKey, appId }: Credential,
  nowS: number,
): now is Credential {
  return now?.secretKey === secretKey && now.appId === appId && isCredentialValid(now, nowS);
}

export function hasPermission(credential: Credential, permission: Permission): boolean {
  return credential.grants.includes('*') || credential.grants.includes(permission);
}

/** True: the application owns the product's devices; null: no such product, which has no owner. */
export function isOfApplication(product: Product | null, appId: ApplicationId): boolean {
  return product?.appIds.includes(appId) === true;
}

export function isExpired(device: Pick<Device, 'expiresAt'>, nowS: number): boolean {
  return device.expiresAt !== null && nowS >= device.expiresAt;
}

/** True: the device may log in: it exists, is enabled and has not expired. */
export function isInService(device: Device | null, nowS: number): boolean {
  return device !== null && !device.disabled && !isExpired(device, nowS);
}

/** SHA-256 of a bridge's bearer key in UTF-8, 64 lowercase hex digits: the registry stores only this. */
export function hashBridgeKey(key: string): string {
  return createHash('sha256').update(key, 'utf8').digest('hex');
}

/** Replaces a secret in every answer, list, log line and file except an export with secrets. */
export const maskedSecret = '***';

/**
 * Masks the receiver's credentials in a webhook's URL: its password, and the values of its query. Its path is shown; a URL
 * without credentials stays unchanged. Text that is not a URL is masked as a whole.
 */
export function maskUrl(text: string): string {
  if (!URL.canParse(text)) return maskedSecret;
  const url = new URL(text);
  if (url.username === '' && url.password === '' && url.search === '' && url.hash === '') return text;
  const { protocol, host, pathname } = url;
  const query = url.search && `?${url.search.slice(1).split('&').map(maskParameter).join('&')}`;
  const fragment = url.hash && `#${maskedSecret}`;
  return `${protocol}//${maskUser(url)}${host}${pathname}${query}${fragment}`;
}

export function maskUrlsIn(text: string): string {
  return text.replaceAll(/\bhttps?:\/\/[^\s"']+/g, maskUrl);
}

/** True: the URL is masked, so that it cannot be registered. It identifies a webhook if no other has the same masked URL. */
export function isMaskedUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password, search, hash } = new URL(text);
  const values = search.slice(1).split('&').map(valueOf);
  return [username, password, hash.slice(1), ...values].includes(maskedSecret);
}

/** Finds webhooks by URL, or, if none has it, by masked URL. `appId` null: of any application. Callers reject several matches. */
export function findNamed(webhooks: Iterable<Webhook>, url: string, appId: string | null): Webhook[] {
  const own = Array.from(webhooks).filter((webhook) => appId === null || webhook.appId === appId);
  const exact = own.filter((webhook) => webhook.url === url);
  return exact.length > 0 || !isMaskedUrl(url)
    ? exact
    : own.filter((webhook) => maskUrl(webhook.url) === url);
}

export function severalNamed(maskedUrl: string): string {
  return `several webhooks match ${maskedUrl}: name the application (--app), or give the whole URL`;
}

/** A user name without a password is usually a token. */
function maskUser({ username, password }: URL): string {
  if (password !== '') return `${username}:${maskedSecret}@`;
  return username === '' ? '' : `${maskedSecret}@`;
}

/** A parameter without a value may be a token. */
function maskParameter(parameter: string): string {
  const nameEnd = parameter.indexOf('=');
  return nameEnd === -1 ? maskedSecret : `${parameter.slice(0, nameEnd)}=${maskedSecret}`;
}

function valueOf(parameter: string): string {
  return parameter.slice(parameter.indexOf('=') + 1);
}
