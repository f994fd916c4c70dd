/**
 * Converts entries from and to their JSON form in registry files, with the names of running.md. References are not checked here.
 * Default: null for `not_before`, `not_after` and `expires_at`, false for `revoked` and `disabled`, all for `types`, none for
 * `defaults` and `labels`. All other fields are required, and no further ones are allowed.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import {
  parseAccessKeyId,
  parseApplicationId,
  parseBridgeId,
  parseDeviceId,
  parseProductId,
  type ApplicationId,
} from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { permissions, type Grant } from '../../model/registry.ts';
import { EntryReader, type EntryRules, type FieldError } from './entry-reader.ts';
import { kindNames, type EntryOf, type KindName } from './registry-kinds.ts';
import { registryNameBytesMax, webhookTypeBytesMax, webhookUrlBytesMax } from '../lmdb/store-limits.ts';

/** A field's name and its reading function; errors stay in the reader. */
type Field<Value> = readonly [name: string, read: (fields: EntryReader, name: string) => Value];
type Form<Entry> = { readonly [Property in keyof Entry]-?: Field<Entry[Property] | undefined> };

const registryIdForm = '1-255 bytes of UTF-8 without control characters';
const grants: ReadonlySet<string> = new Set(['*', ...permissions]);
const grantForm = ['*', ...permissions].join(', ');
const keySha256Form = /^[0-9a-f]{64}$/i;
const webhookSecretPrefix = 'whsec_';
const webhookUrlForm = `an http or https URL of at most ${webhookUrlBytesMax} characters`;
const typeForm = /^(\*|[a-z][a-z0-9_.]*)$/;

const id =
  <Id extends string>(parse: (text: string) => Id | null, form = registryIdForm) =>
  (fields: EntryReader, name: string): Id =>
    fields.id(name, parse, form);
const flag = (fields: EntryReader, name: string): boolean => fields.flag(name);
const seconds = (fields: EntryReader, name: string): number | null => fields.seconds(name);
const appId = ['app_id', id(parseApplicationId)] as const;
const productId = ['product_id', id(parseProductId)] as const;
const appIds = [
  'app_ids',
  (fields: EntryReader, name: string): readonly ApplicationId[] =>
    fields.list(name, parseApplicationId, 'application ids'),
] as const;

/** Fields in the order in which they are checked and written. */
const forms: { readonly [Kind in KindName]: Form<EntryOf[Kind]> } = {
  application: { appId, name: ['name', (fields, name) => fields.text(name, registryNameBytesMax)] },
  product: { productId, appIds, defaults: ['defaults', (fields, name) => fields.defaults(name)] },
  credential: {
    accessKeyId: ['access_key_id', id(parseAccessKeyId, '1-128 visible ASCII characters but , and /')],
    secretKey: ['secret_key', (fields, name) => fields.secret(name)],
    appId,
    grants: ['permissions', (fields, name) => fields.list(name, parseGrant, grantForm)],
    notBefore: ['not_before', seconds],
    notAfter: ['not_after', seconds],
    revoked: ['revoked', flag],
  },
  device: {
    deviceId: ['device_id', id(parseDeviceId, '1-255 bytes of UTF-8')],
    productId,
    secret: ['secret', (fields, name) => fields.secret(name)],
    expiresAt: ['expires_at', seconds],
    disabled: ['disabled', flag],
    labels: ['labels', (fields, name) => fields.labels(name)],
  },
  webhook: {
    appId,
    url: ['url', (fields, name) => fields.url(name, parseWebhookUrl, webhookUrlForm)],
    secret: ['secret', (fields, name) => fields.secret(name, webhookSecretPrefix)],
    types: [
      'types',
      (fields, name) => (fields.has(name) ? fields.list(name, parseEventType, 'event types or *') : ['*']),
    ],
  },
  bridge: {
    bridgeId: ['bridge_id', id(parseBridgeId)],
    keySha256: ['key_sha256', id(parseKeySha256, '64 hex digits')],
    appIds,
    revoked: ['revoked', flag],
  },
};

interface Plan {
  readonly fields: readonly (readonly [property: string, field: Field<unknown>])[];
  readonly names: ReadonlySet<string>;
}

/** Precomputed, because a million devices pass through. */
const plans = Object.fromEntries(
  kindNames.map((kind): [KindName, Plan] => {
    const fields = Object.entries(forms[kind] as Readonly<Record<string, Field<unknown>>>);
    return [kind, { fields, names: new Set(fields.map(([, [name]]) => name)) }];
  }),
) as Readonly<Record<KindName, Plan>>;

/** True if any kind of entry has a field of this name. */
export function isFieldName(name: string): boolean {
  return name === 'kind' || kindNames.some((kind) => plans[kind].names.has(name));
}

/** The entry, or the first wrong field; reasons quote no values. Without `rules`, short secrets are rejected. */
export function parseEntry<Kind extends KindName>(
  kind: Kind,
  json: JsonObject,
  rules?: EntryRules,
): Result<EntryOf[Kind], FieldError> {
  const { fields, names } = plans[kind];
  const reader = new EntryReader(json, kind, names, rules);
  const entry: Record<string, unknown> = {};
  for (const [property, [name, read]] of fields) {
    const value = read(reader, name);
    if (value !== undefined) entry[property] = value;
  }
  return reader.error === null ? succeed(entry as unknown as EntryOf[Kind]) : fail(reader.error);
}

/** The entry in its JSON form, with secrets in clear text. */
export function writeEntry<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): JsonObject {
  const values = entry as unknown as Readonly<Record<string, unknown>>;
  const json: Record<string, unknown> = {};
  for (const [property, [name]] of plans[kind].fields)
    if (values[property] !== undefined) json[name] = values[property];
  return json;
}

function parseGrant(text: string): Grant | null {
  return grants.has(text) ? (text as Grant) : null;
}

/** Only ASCII without spaces: the URL is part of a key and of a request line. */
function parseWebhookUrl(text: string): string | null {
  if (text.length > webhookUrlBytesMax || !/^https?:\/\/[\x21-\x7e]+$/.test(text)) return null;
  return URL.canParse(text) ? text : null;
}

function parseEventType(text: string): string | null {
  return text.length <= webhookTypeBytesMax && typeForm.test(text) ? text : null;
}

function parseKeySha256(text: string): string | null {
  return keySha256Form.test(text) ? text.toLowerCase() : null;
}
