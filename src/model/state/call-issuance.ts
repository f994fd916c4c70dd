/**
 * A call session as it is issued, and issued again: idempotent for an application, a device and a room. Who may be
 * issued one, and which other session has to go for it, is decided elsewhere.
 * Source: calls-and-media.md, Credential issuance.
 */
import type { CallMedia, CallOrder, CallSession, Size } from '../call.ts';
import type { SessionId } from '../ids.ts';
import { callIssuedGraceS } from '../limits.ts';

/** `atMs`: wall milliseconds. */
export function issueSession(sessionId: SessionId, order: CallOrder, atMs: number): CallSession {
  return {
    appId: order.appId,
    deviceId: order.deviceId,
    room: order.room,
    media: order.media,
    callingTimeoutS: order.callingTimeoutS,
    sessionId,
    state: 'issued',
    createdAtMs: atMs,
    expiresAtMs: expiryOf(order, atMs),
    ringsFromMs: null,
    hasSeenDevice: false,
    hasSeenBridge: false,
    connectedTokens: [],
  };
}

export type Reissue =
  { readonly kind: 'renewed' | 'changed'; readonly session: CallSession } | { readonly kind: 'media_in_use' };

/** `order` is for the same application, device and room. Media parameters are replaced while nobody has connected. */
export function reissueSession(session: CallSession, order: CallOrder, atMs: number): Reissue {
  const isSameMedia = sameMedia(session.media, order.media);
  if (!isSameMedia && session.state !== 'issued') return { kind: 'media_in_use' };
  const renewed: CallSession = {
    ...session,
    room: order.room,
    media: order.media,
    // A call that rings, rings for as long as it was going to.
    callingTimeoutS: session.ringsFromMs === null ? order.callingTimeoutS : session.callingTimeoutS,
    expiresAtMs: expiryOf(order, atMs),
  };
  return { kind: isSameMedia ? 'renewed' : 'changed', session: renewed };
}

/** On a whole second: a token says it in seconds. */
function expiryOf({ callingTimeoutS }: CallOrder, atMs: number): number {
  return (Math.floor(atMs / 1000) + callingTimeoutS + callIssuedGraceS) * 1000;
}

function sameMedia(one: CallMedia, other: CallMedia): boolean {
  return (
    one.noVideo === other.noVideo &&
    one.upVideo === other.upVideo &&
    one.downVideo === other.downVideo &&
    one.rotation === other.rotation &&
    sameSize(one.screen, other.screen) &&
    one.resolution === other.resolution &&
    one.downAudio === other.downAudio &&
    one.audioRate === other.audioRate &&
    one.audioChannels === other.audioChannels
  );
}

function sameSize(one: Size | null, other: Size | null): boolean {
  return one?.width === other?.width && one?.height === other?.height;
}
