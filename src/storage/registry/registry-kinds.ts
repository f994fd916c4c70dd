/** The six kinds of registry entry, and what a registry file calls them. Source: running.md, Data. */
import type { Application, Bridge, Credential, Device, Product, Webhook } from '../../model/registry.ts';

export interface EntryOf {
  readonly application: Application;
  readonly product: Product;
  readonly credential: Credential;
  readonly device: Device;
  readonly webhook: Webhook;
  readonly bridge: Bridge;
}

export type KindName = keyof EntryOf;

/** What is referred to comes before what refers to it. */
export const kindNames = [
  'application',
  'product',
  'credential',
  'device',
  'webhook',
  'bridge',
] as const satisfies readonly KindName[];

/** The name of its list in a registry document. */
export const listNames = {
  application: 'applications',
  product: 'products',
  credential: 'credentials',
  device: 'devices',
  webhook: 'webhooks',
  bridge: 'bridges',
} as const satisfies Record<KindName, string>;

const kindsByList: ReadonlyMap<string, KindName> = new Map(kindNames.map((kind) => [listNames[kind], kind]));

/** The kind whose list has this name, or null. */
export function findKindOfList(listName: string): KindName | null {
  return kindsByList.get(listName) ?? null;
}

export function isKindName(name: unknown): name is KindName {
  return (kindNames as readonly unknown[]).includes(name);
}

/** The field that names an entry. A webhook's id is its application too. */
export const idKeys = {
  application: 'app_id',
  product: 'product_id',
  credential: 'access_key_id',
  device: 'device_id',
  webhook: 'url',
  bridge: 'bridge_id',
} as const satisfies Record<KindName, string>;

/** A device names its product and most name an application, so those two are looked for last. */
const kindsByTellingKey = [
  'credential',
  'device',
  'bridge',
  'webhook',
  'product',
  'application',
] as const satisfies readonly KindName[];

/** Of an entry that does not say its kind; null when no id tells it. */
export function inferKind(entry: Readonly<Record<string, unknown>>): KindName | null {
  return kindsByTellingKey.find((kind) => Object.hasOwn(entry, idKeys[kind])) ?? null;
}
