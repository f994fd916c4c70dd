/** The six kinds of registry entry, their names in registry files, and their rows in the store. Source: running.md, Data. */
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

/** Each kind comes after the kinds that it refers to. */
export const kindNames = [
  'application',
  'product',
  'credential',
  'device',
  'webhook',
  'bridge',
] as const satisfies readonly KindName[];

export const listNames = {
  application: 'applications',
  product: 'products',
  credential: 'credentials',
  device: 'devices',
  webhook: 'webhooks',
  bridge: 'bridges',
} as const satisfies Record<KindName, string>;

const kindsByList: ReadonlyMap<string, KindName> = new Map(kindNames.map((kind) => [listNames[kind], kind]));

export function findKindOfList(listName: string): KindName | null {
  return kindsByList.get(listName) ?? null;
}

export function isKindName(name: unknown): name is KindName {
  return (kindNames as readonly unknown[]).includes(name);
}

/** The id field of each kind. A webhook's id also includes its application. */
export const idKeys = {
  application: 'app_id',
  product: 'product_id',
  credential: 'access_key_id',
  device: 'device_id',
  webhook: 'url',
  bridge: 'bridge_id',
} as const satisfies Record<KindName, string>;

/** Devices refer to a product and most kinds to an application, so those two are tried last. */
const kindsByTellingKey = [
  'credential',
  'device',
  'bridge',
  'webhook',
  'product',
  'application',
] as const satisfies readonly KindName[];

/** The kind of an entry without `kind`, by its id field; null: it has none. */
export function inferKind(entry: Readonly<Record<string, unknown>>): KindName | null {
  return kindsByTellingKey.find((kind) => Object.hasOwn(entry, idKeys[kind])) ?? null;
}

/** Properties that form the id of an entry. */
const idProperties = {
  application: ['appId'],
  product: ['productId'],
  credential: ['accessKeyId'],
  device: ['deviceId'],
  webhook: ['appId', 'url'],
  bridge: ['bridgeId'],
} as const satisfies Properties;

/** All other properties in the order of a stored row. Add at the end only. */
const rowProperties = {
  application: ['name'],
  product: ['appIds', 'defaults'],
  credential: ['secretKey', 'appId', 'grants', 'notBefore', 'notAfter', 'revoked'],
  device: ['productId', 'secret', 'expiresAt', 'disabled', 'labels'],
  webhook: ['secret', 'types'],
  bridge: ['keySha256', 'appIds', 'revoked'],
} as const satisfies Properties;

/** Optional properties: absent at the end of a row, they take no bytes. */
const optionalProperties: ReadonlySet<string> = new Set(['defaults', 'labels']);

type Properties = { readonly [Kind in KindName]: readonly (keyof EntryOf[Kind])[] };

/** A stored entry: a msgpack array under the UTF-8 bytes of its id, which define order and equality. */
export type Row = readonly unknown[];

/** The parts of a webhook's id contain no line feed. */
const idSeparator = '\n';

export function idOf<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): string {
  return pick(entry, idProperties[kind]).join(idSeparator);
}

/** An id to show: a webhook's is its application and masked URL. */
export function shownId(id: string): string {
  const [appId = '', url] = id.split(idSeparator);
  // A device id may contain line feeds, too.
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

/** True if the row has the right number of values for this release; the values are not checked. */
export function isRow(kind: KindName, row: unknown): row is Row {
  const properties: readonly string[] = rowProperties[kind];
  const needed = properties.filter((property) => !optionalProperties.has(property));
  return Array.isArray(row) && row.length >= needed.length && row.length <= properties.length;
}

function pick(entry: object, properties: readonly string[]): unknown[] {
  return properties.map((property) => (entry as Readonly<Record<string, unknown>>)[property]);
}
