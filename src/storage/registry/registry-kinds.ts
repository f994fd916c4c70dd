/** The six kinds of registry entry: what a registry file calls them, and their rows in the store. Source: running.md, Data. */
import {
  maskUrl,
  type Application,
  type Bridge,
  type Credential,
  type Device,
  type Product,
  type Webhook,
} from '../../model/registry.ts';

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

/** What tells entries of a kind apart. */
const idProperties = {
  application: ['appId'],
  product: ['productId'],
  credential: ['accessKeyId'],
  device: ['deviceId'],
  webhook: ['appId', 'url'],
  bridge: ['bridgeId'],
} as const satisfies Properties;

/** The order in which the store has everything else: add at the end only. */
const rowProperties = {
  application: ['name'],
  product: ['appIds', 'defaults'],
  credential: ['secretKey', 'appId', 'grants', 'notBefore', 'notAfter', 'revoked'],
  device: ['productId', 'secret', 'expiresAt', 'disabled', 'labels'],
  webhook: ['secret', 'types'],
  bridge: ['keySha256', 'appIds', 'revoked'],
} as const satisfies Properties;

/** Properties that an entry may lack: at the end of its row they take no bytes. */
const optionalProperties: ReadonlySet<string> = new Set(['defaults', 'labels']);

type Properties = { readonly [Kind in KindName]: readonly (keyof EntryOf[Kind])[] };

/** The store's form of an entry, a msgpack array under the UTF-8 of its id, so that order and equality are those of the bytes. */
export type Row = readonly unknown[];

/** Neither part of a webhook's id holds a line feed. */
const idSeparator = '\n';

export function idOf<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): string {
  return pick(entry, idProperties[kind]).join(idSeparator);
}

/** An id for people and in answers: that of a webhook is its application and its masked URL. */
export function shownId(id: string): string {
  const [appId = '', url] = id.split(idSeparator);
  // The id of a device may have line feeds, too.
  return url !== undefined && URL.canParse(url) ? `${appId} ${maskUrl(url)}` : id.replace(idSeparator, ' ');
}

export function encodeRow<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): Row {
  const row = pick(entry, rowProperties[kind]);
  while (row.at(-1) === undefined) row.pop();
  return row;
}

export function decodeRow<Kind extends KindName>(kind: Kind, id: string, row: Row): EntryOf[Kind] {
  const [first = '', second]: readonly string[] = idProperties[kind];
  const firstEnd = second === undefined ? id.length : id.indexOf(idSeparator);
  const entry: Record<string, unknown> = { [first]: id.slice(0, firstEnd) };
  if (second !== undefined) entry[second] = id.slice(firstEnd + 1);
  let at = 0;
  for (const property of rowProperties[kind]) {
    const value = row[at++];
    if (value !== undefined) entry[property] = value;
  }
  return entry as unknown as EntryOf[Kind];
}

/** True: it has as many values as an entry of this release may have. What they are is not looked at. */
export function isRow(kind: KindName, row: unknown): row is Row {
  const properties: readonly string[] = rowProperties[kind];
  const needed = properties.filter((property) => !optionalProperties.has(property));
  return Array.isArray(row) && row.length >= needed.length && row.length <= properties.length;
}

function pick(entry: object, properties: readonly string[]): unknown[] {
  return properties.map((property) => (entry as Readonly<Record<string, unknown>>)[property]);
}
