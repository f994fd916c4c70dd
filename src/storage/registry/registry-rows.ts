/**
 * The store's form of a registry entry: key and row. A key is the UTF-8 of the id, so that order and equality
 * are those of the bytes; a row is a msgpack array of everything else, in a fixed order: add at the end only.
 */
import type { AccessKeyId, ApplicationId, BridgeId, DeviceId, ProductId } from '../../model/ids.ts';
import type { Grant } from '../../model/registry.ts';
import type { EntryOf, KindName } from './registry-kinds.ts';

export interface RowOf {
  readonly application: readonly [name: string];
  readonly product: readonly [appIds: readonly ApplicationId[]];
  readonly credential: readonly [
    secretKey: string,
    appId: ApplicationId,
    grants: readonly Grant[],
    notBefore: number | null,
    notAfter: number | null,
    revoked: boolean,
  ];
  readonly device: readonly [
    productId: ProductId,
    secret: string,
    expiresAt: number | null,
    disabled: boolean,
  ];
  readonly webhook: readonly [secret: string, types: readonly string[]];
  readonly bridge: readonly [keySha256: string, appIds: readonly ApplicationId[], revoked: boolean];
}

export interface RowCodec<Entry, Row> {
  /** Tells entries of a kind apart. */
  id(entry: Entry): string;
  encode(entry: Entry): Row;
  decode(id: string, row: Row): Entry;
}

/** A webhook's id is application and url: neither holds a line feed. */
const webhookIdSeparator = '\n';

export const rowCodecs: { readonly [Kind in KindName]: RowCodec<EntryOf[Kind], RowOf[Kind]> } = {
  application: {
    id: ({ appId }) => appId,
    encode: ({ name }) => [name],
    decode: (id, [name]) => ({ appId: id as ApplicationId, name }),
  },

  product: {
    id: ({ productId }) => productId,
    encode: ({ appIds }) => [appIds],
    decode: (id, [appIds]) => ({ productId: id as ProductId, appIds }),
  },

  credential: {
    id: ({ accessKeyId }) => accessKeyId,
    encode: ({ secretKey, appId, grants, notBefore, notAfter, revoked }) => [
      secretKey,
      appId,
      grants,
      notBefore,
      notAfter,
      revoked,
    ],
    decode: (id, [secretKey, appId, grants, notBefore, notAfter, revoked]) => ({
      accessKeyId: id as AccessKeyId,
      secretKey,
      appId,
      grants,
      notBefore,
      notAfter,
      revoked,
    }),
  },

  device: {
    id: ({ deviceId }) => deviceId,
    encode: ({ productId, secret, expiresAt, disabled }) => [productId, secret, expiresAt, disabled],
    decode: (id, row) => ({
      deviceId: id as DeviceId,
      productId: row[0],
      secret: row[1],
      expiresAt: row[2],
      disabled: row[3],
    }),
  },

  webhook: {
    id: ({ appId, url }) => appId + webhookIdSeparator + url,
    encode: ({ secret, types }) => [secret, types],
    decode: (id, [secret, types]) => {
      const appIdEnd = id.indexOf(webhookIdSeparator);
      return { appId: id.slice(0, appIdEnd) as ApplicationId, url: id.slice(appIdEnd + 1), secret, types };
    },
  },

  bridge: {
    id: ({ bridgeId }) => bridgeId,
    encode: ({ keySha256, appIds, revoked }) => [keySha256, appIds, revoked],
    decode: (id, [keySha256, appIds, revoked]) => ({ bridgeId: id as BridgeId, keySha256, appIds, revoked }),
  },
};
