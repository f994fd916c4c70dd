/**
 * Issues call sessions, idempotently for an application, a device and a room. Permission, and the session that makes room for a
 * new one, are decided elsewhere. Source: calls-and-media.md, Credential issuance.
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

/** `order`: for the same application, device and room. Media parameters may change until somebody connects. */
export function reissueSession(session: CallSession, order: CallOrder, atMs: number): Reissue {
  const isSameMedia = sameMedia(session.media, order.media);
  if (!isSameMedia && session.state !== 'issued') return { kind: 'media_in_use' };
  const renewed: CallSession = {
    ...session,
    room: order.room,
    media: order.media,
    // A ringing call keeps its timeout.
    callingTimeoutS: session.ringsFromMs === null ? order.callingTimeoutS : session.callingTimeoutS,
    expiresAtMs: expiryOf(order, atMs),
  };
  return { kind: isSameMedia ? 'renewed' : 'changed', session: renewed };
}

/** Whole seconds, the unit of tokens. */
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
