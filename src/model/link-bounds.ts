/** Bounds that the links of a server to its edges and to its media processes have in common. */
import type { LinkBounds } from '../lib/link/link.ts';
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
} from './limits.ts';

/** For links that send their hello at once: an end that is not ready yet needs a larger `helloMsMax`. */
export const linkBounds: LinkBounds = {
  messageBytesMax: linkMessageBytesMax,
  backlogBytesMax: linkBacklogBytesMax,
  congestedBytes: linkCongestedBytes,
  helloMsMax: linkHandshakeMsMax,
  heartbeatMs: linkHeartbeatMs,
  silenceMsMax: linkSilenceMsMax,
};

export const linkLogBounds: LinkLogBounds = {
  linesMax: linkLogLinesMax,
  charactersMax: linkLogCharactersMax,
};

export const linkPortBounds: Omit<PskKind, 'identity' | 'peer' | 'keySetting'> = {
  handshakeMsMax: linkHandshakeMsMax,
  connectionsMax: linkConnectionsMax,
  handshakesPerAddressMax: linkHandshakesPerAddressMax,
};
