/** The link between an edge and its core: its bounds, and the messages that each end reads. Source: scale-out.md, Edges. */
import type { LinkBounds, LinkLanguage } from '../lib/link/link.ts';
import type { LinkLogBounds } from '../lib/link/link-log.ts';
import type { PskKind } from '../lib/link/psk-transport.ts';
import {
  linkBacklogBytesMax,
  linkCongestedBytes,
  linkConnectionsMax,
  linkHandshakeMsMax,
  linkHandshakesPerAddressMax,
  linkHeartbeatMs,
  linkLogCharactersMax,
  linkLogLinesMax,
  linkMessageBytesMax,
  linkSilenceMsMax,
} from '../model/limits.ts';
import {
  decodeCoreMessage,
  decodeEdgeMessage,
  encodeCoreMessage,
  encodeEdgeMessage,
} from '../protocol/edge-link/edge-codec.ts';
import { decodeCoreHello, decodeEdgeHello } from '../protocol/edge-link/edge-greeting.ts';
import type { CoreMessage, EdgeMessage, SentByEdge } from '../protocol/edge-link/edge-message.ts';

export const edgeLinkBounds: LinkBounds = {
  messageBytesMax: linkMessageBytesMax,
  backlogBytesMax: linkBacklogBytesMax,
  congestedBytes: linkCongestedBytes,
  helloMsMax: linkHandshakeMsMax,
  heartbeatMs: linkHeartbeatMs,
  silenceMsMax: linkSilenceMsMax,
};

export const edgeLogBounds: LinkLogBounds = {
  linesMax: linkLogLinesMax,
  charactersMax: linkLogCharactersMax,
};

/** Pre-shared key of links to edges on other machines. */
export const edgePsk: PskKind = {
  identity: 'reveille-edge',
  peer: 'edge',
  keySetting: 'key file, edges.key_file at the core and edge.key_file at the edge',
  handshakeMsMax: linkHandshakeMsMax,
  connectionsMax: linkConnectionsMax,
  handshakesPerAddressMax: linkHandshakesPerAddressMax,
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
