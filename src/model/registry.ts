/**
 * The registry: applications and credentials that may call, products and devices that exist. Source: decisions.md,
 * Registry and Permissions; running.md, Data.
 */
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
  /** What its devices have in common; left out: nothing. */
  readonly defaults?: ProductDefaults;
}

export interface Device {
  readonly deviceId: DeviceId;
  readonly productId: ProductId;
  readonly secret: string;
  /** Unix seconds; expired when now >= it; null: never. */
  readonly expiresAt: number | null;
  readonly disabled: boolean;
  /** What its backends keep with it; left out: nothing. */
  readonly labels?: Labels;
}

/** By key; at least one. */
export type Labels = Readonly<Record<string, string>>;

/** Where an application is told of events. Known by application and url together. Source: events.md, Webhooks. */
export interface Webhook {
  readonly appId: ApplicationId;
  readonly url: string;
  readonly secret: string;
  /** Event types, or `*` for all. */
  readonly types: readonly string[];
}

/** A process that may stand in a room for a device. Source: calls-and-media.md, Media legs. */
export interface Bridge {
  readonly bridgeId: BridgeId;
  /** 64 lowercase hex digits of its bearer key's SHA-256. */
  readonly keySha256: string;
  readonly appIds: readonly ApplicationId[];
  readonly revoked: boolean;
}

export function isCredentialValid(credential: Credential, nowS: number): boolean {
  if (credential.revoked) return false;
  if (credential.notBefore !== null && nowS < credential.notBefore) return false;
  return credential.notAfter === null || nowS < credential.notAfter;
}

/** Whether a credential of before is there still, as the registry has it `now`: the same, and valid. */
export function isStillValid(
  now: Credential | null,
  { secretKey, appId }: Credential,
  nowS: number,
): now is Credential {
  return now?.secretKey === secretKey && now.appId === appId && isCredentialValid(now, nowS);
}

export function holdsPermission(credential: Credential, permission: Permission): boolean {
  return credential.grants.includes('*') || credential.grants.includes(permission);
}

/** Whether the product's devices are the application's; null: no such product, which is nobody's. */
export function isOfApplication(product: Product | null, appId: ApplicationId): boolean {
  return product?.appIds.includes(appId) === true;
}

export function isExpired(device: Pick<Device, 'expiresAt'>, nowS: number): boolean {
  return device.expiresAt !== null && nowS >= device.expiresAt;
}

/** Whether a device may come in: it is there, enabled and unexpired. */
export function isInService(device: Device | null, nowS: number): boolean {
  return device !== null && !device.disabled && !isExpired(device, nowS);
}

/** What is kept of a bridge's bearer key: 64 lowercase hex digits of the SHA-256 of its UTF-8 text. */
export function hashBridgeKey(key: string): string {
  return createHash('sha256').update(key, 'utf8').digest('hex');
}

/** Replaces a secret in every answer, list, log line and file but an export with secrets. */
export const maskedSecret = '***';

/**
 * A webhook's URL as people see it: its password and the values of its query are credentials of the receiver. Without any it
 * stays as it is. Its path is shown. Text that is no URL is masked as a whole.
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

/** The same for every URL in a text. */
export function maskUrlsIn(text: string): string {
  return text.replaceAll(/\bhttps?:\/\/[^\s"']+/g, maskUrl);
}

/** A masked URL cannot be registered. It names a webhook if no other has the same masked URL. */
export function isMaskedUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password, search, hash } = new URL(text);
  const values = search.slice(1).split('&').map(valueOf);
  return [username, password, hash.slice(1), ...values].includes(maskedSecret);
}

/**
 * Finds the webhooks that a URL names: those that have it, else those whose URL is shown so. `appId` null: of any application.
 * Callers reject more than one.
 */
export function findNamed(webhooks: Iterable<Webhook>, url: string, appId: string | null): Webhook[] {
  const own = Array.from(webhooks).filter((webhook) => appId === null || webhook.appId === appId);
  const exact = own.filter((webhook) => webhook.url === url);
  return exact.length > 0 || !isMaskedUrl(url)
    ? exact
    : own.filter((webhook) => maskUrl(webhook.url) === url);
}

export function severalNamed(maskedUrl: string): string {
  return `several webhooks are called ${maskedUrl}: name the application (--app), or give the whole URL`;
}

/** A user name alone is a token as a rule. */
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
