/** The link between an edge and its core: its key, and the messages that each end reads. Source: scale-out.md, Edges. */
import type { LinkLanguage } from '../lib/link/link.ts';
import type { PskKind } from '../lib/link/psk-transport.ts';
import { linkPortBounds } from '../model/link-bounds.ts';
import {
  decodeCoreMessage,
  decodeEdgeMessage,
  encodeCoreMessage,
  encodeEdgeMessage,
} from '../protocol/edge-link/edge-codec.ts';
import { decodeCoreHello, decodeEdgeHello } from '../protocol/edge-link/edge-greeting.ts';
import type { CoreMessage, EdgeMessage, SentByEdge } from '../protocol/edge-link/edge-message.ts';

/** Pre-shared key of links to edges on other machines. */
export const edgePsk: PskKind = {
  identity: 'reveille-edge',
  peer: 'edge',
  keySetting: 'key file, edges.key_file at the core and edge.key_file at the edge',
  ...linkPortBounds,
};

/** The language of the edge's end. */
export const edgeLanguage: LinkLanguage<SentByEdge, CoreMessage> = {
  encode: encodeEdgeMessage,
  readHello: decodeCoreHello,
  read: decodeCoreMessage,
};

/** The language of the core's end. `isOwn`: the edge runs on this machine, for the same user. */
export function coreLanguage(isOwn: boolean): LinkLanguage<CoreMessage, EdgeMessage> {
  return {
    encode: encodeCoreMessage,
    readHello: decodeEdgeHello,
    read: (bytes) => decodeEdgeMessage(bytes, isOwn),
  };
}
