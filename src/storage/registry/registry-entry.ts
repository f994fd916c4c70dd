/**
 * The registry file's form of an entry: JSON with the names of running.md, in and out. What an entry refers to
 * is not looked up here. Absent `not_before`, `not_after`, `expires_at`, `revoked` and `disabled` are null and
 * false, absent `types` is all of them; everything else must be there, and nothing else may be.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import {
  parseAccessKeyId,
  parseApplicationId,
  parseBridgeId,
  parseDeviceId,
  parseProductId,
} from '../../model/ids.ts';
import { permissions, type Grant } from '../../model/registry.ts';
import { EntryReader, type EntryRules, type FieldError, type JsonObject } from './entry-reader.ts';
import type { EntryOf, KindName } from './registry-kinds.ts';
import { registryNameBytesMax, webhookTypeBytesMax, webhookUrlBytesMax } from '../lmdb/store-limits.ts';

interface EntryForm<Entry> {
  readonly keys: ReadonlySet<string>;
  /** Leaves what is wrong in the reader. */
  read(fields: EntryReader): Entry;
  write(entry: Entry): JsonObject;
}

const registryIdForm = '1-255 bytes of UTF-8 without control characters';
const grants: ReadonlySet<string> = new Set(['*', ...permissions]);
const grantForm = ['*', ...permissions].join(', ');
const keySha256Form = /^[0-9a-f]{64}$/i;
const webhookSecretPrefix = 'whsec_';
const typeForm = /^(\*|[a-z][a-z0-9_.]*)$/;

const forms: { readonly [Kind in KindName]: EntryForm<EntryOf[Kind]> } = {
  application: {
    keys: new Set(['app_id', 'name']),
    read: (fields) => ({
      appId: fields.id('app_id', parseApplicationId, registryIdForm),
      name: fields.text('name', registryNameBytesMax),
    }),
    write: ({ appId, name }) => ({ app_id: appId, name }),
  },

  product: {
    keys: new Set(['product_id', 'app_ids']),
    read: (fields) => ({
      productId: fields.id('product_id', parseProductId, registryIdForm),
      appIds: fields.list('app_ids', parseApplicationId, 'application ids'),
    }),
    write: ({ productId, appIds }) => ({ product_id: productId, app_ids: appIds }),
  },

  credential: {
    keys: new Set([
      'access_key_id',
      'secret_key',
      'app_id',
      'permissions',
      'not_before',
      'not_after',
      'revoked',
    ]),
    read: (fields) => ({
      accessKeyId: fields.id('access_key_id', parseAccessKeyId, '1-128 visible ASCII characters but , and /'),
      secretKey: fields.secret('secret_key'),
      appId: fields.id('app_id', parseApplicationId, registryIdForm),
      grants: fields.list('permissions', parseGrant, grantForm),
      notBefore: fields.seconds('not_before'),
      notAfter: fields.seconds('not_after'),
      revoked: fields.flag('revoked'),
    }),
    write: (credential) => ({
      access_key_id: credential.accessKeyId,
      secret_key: credential.secretKey,
      app_id: credential.appId,
      permissions: credential.grants,
      not_before: credential.notBefore,
      not_after: credential.notAfter,
      revoked: credential.revoked,
    }),
  },

  device: {
    keys: new Set(['device_id', 'product_id', 'secret', 'expires_at', 'disabled']),
    read: (fields) => ({
      deviceId: fields.id('device_id', parseDeviceId, '1-255 bytes of UTF-8'),
      productId: fields.id('product_id', parseProductId, registryIdForm),
      secret: fields.secret('secret'),
      expiresAt: fields.seconds('expires_at'),
      disabled: fields.flag('disabled'),
    }),
    write: ({ deviceId, productId, secret, expiresAt, disabled }) => ({
      device_id: deviceId,
      product_id: productId,
      secret,
      expires_at: expiresAt,
      disabled,
    }),
  },

  webhook: {
    keys: new Set(['app_id', 'url', 'secret', 'types']),
    read: (fields) => ({
      appId: fields.id('app_id', parseApplicationId, registryIdForm),
      url: fields.id(
        'url',
        parseWebhookUrl,
        `an http or https URL of at most ${webhookUrlBytesMax} characters`,
      ),
      secret: fields.secret('secret', webhookSecretPrefix),
      types: fields.has('types') ? fields.list('types', parseEventType, 'event types or *') : ['*'],
    }),
    write: ({ appId, url, secret, types }) => ({ app_id: appId, url, secret, types }),
  },

  bridge: {
    keys: new Set(['bridge_id', 'key_sha256', 'app_ids', 'revoked']),
    read: (fields) => ({
      bridgeId: fields.id('bridge_id', parseBridgeId, registryIdForm),
      keySha256: fields.id('key_sha256', parseKeySha256, '64 hex digits'),
      appIds: fields.list('app_ids', parseApplicationId, 'application ids'),
      revoked: fields.flag('revoked'),
    }),
    write: ({ bridgeId, keySha256, appIds, revoked }) => ({
      bridge_id: bridgeId,
      key_sha256: keySha256,
      app_ids: appIds,
      revoked,
    }),
  },
};

/** The entry, or the first field that is wrong. Reasons quote no values. Without `rules` a secret has to be long. */
export function parseEntry<Kind extends KindName>(
  kind: Kind,
  json: JsonObject,
  rules?: EntryRules,
): Result<EntryOf[Kind], FieldError> {
  const fields = new EntryReader(json, kind, forms[kind].keys, rules);
  const entry = forms[kind].read(fields);
  return fields.error === null ? succeed(entry) : fail(fields.error);
}

/** The entry as a registry file has it, secrets in clear. */
export function writeEntry<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): JsonObject {
  return forms[kind].write(entry);
}

function parseGrant(text: string): Grant | null {
  return grants.has(text) ? (text as Grant) : null;
}

/** ASCII without spaces: part of a key, and of a request line. */
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
