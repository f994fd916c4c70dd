/** The link to a media process: its bounds, and the messages that each end reads. Source: calls-and-media.md, The media process. */
import type { Duplex } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { declineLink, type LinkBounds, type LinkLanguage } from '../../lib/link/link.ts';
import type { PskKind } from '../../lib/link/psk-transport.ts';
import { mediaStartMsMax } from '../../model/limits.ts';
import { linkBounds, linkPortBounds } from '../../model/link-bounds.ts';
import {
  decodeLinkGreeting,
  decodeLinkMessage,
  encodeLinkMessage,
  linkVersion,
  type ReadMessage,
  type ServerMessage,
} from '../../protocol/media-link/link-message.ts';

export const mediaLinkBounds: LinkBounds = { ...linkBounds, helloMsMax: mediaStartMsMax };

export const mediaPsk: PskKind = {
  identity: 'reveille-media',
  peer: 'media process',
  keySetting: 'media.link_key_file',
  ...linkPortBounds,
};

/** The message codec of the end whose messages `read` parses. */
export function mediaLanguage<Received>(read: ReadMessage<Received>): LinkLanguage<object, Received> {
  return {
    encode: encodeLinkMessage,
    readHello: (bytes) => decodeLinkGreeting(bytes, read),
    read: (bytes) => decodeLinkMessage(bytes, read),
  };
}

export function declineMedia(stream: Duplex, clock: Clock, sentence: string): void {
  const declined: ServerMessage = { kind: 'declined', version: linkVersion, sentence };
  declineLink(stream, clock, mediaLinkBounds, encodeLinkMessage(declined));
}
