/** The context that the listener gives its legs: one object for all. */
import type { Clock } from '../../lib/clock.ts';
import type { Crowd } from '../../lib/connections/crowd.ts';
import type { BridgeAdmission, DeviceAdmission, ViewerAdmission } from '../../core/ports/leg-service.ts';
import type { Relay } from '../relay/relay.ts';
import type { RtcTrouble } from '../webrtc/rtc-peer.ts';

/** A connected leg, as the listener sees it. */
export interface LegConnection {
  /** Asks the peer for a sign of life where it can be asked, and cuts it when none came since the last heartbeat. */
  heartbeat(): void;
  /** Cuts the connection without notifying anyone. */
  drop(): void;
}

/** A bridge's leg without a call. */
export interface IdleLeg {
  /** Closes it, because another leg needs its place. */
  evict(): void;
}

/** By whom legs are counted. Empty for viewers, which have a bound of their own. */
export type LegOwner = `application ${string}` | `bridge ${string}` | '';

export function legOwnerOf(admission: DeviceAdmission | BridgeAdmission | ViewerAdmission): LegOwner {
  if ('appId' in admission) return `application ${admission.appId}`;
  return 'bridgeId' in admission ? `bridge ${admission.bridgeId}` : '';
}

/** The part of the relay that the legs use. */
export type LegRelay = Pick<
  Relay,
  'refusalOf' | 'joinDevice' | 'joinBridge' | 'watch' | 'watchLive' | 'view'
>;

export interface MediaListenerContext {
  readonly clock: Clock;
  readonly relay: LegRelay;
  /** Each leg is in it from its connect to its end, under its `LegOwner`. */
  readonly legs: Crowd<LegConnection>;
  /** The same of those by WebRTC, which hold no connection of the listener. */
  readonly rtcLegs: Crowd<LegConnection>;
  /** The bridges among `legs` that have no call. */
  readonly idleBridges: Crowd<IdleLeg>;
  /** Legs that are closing, until their connections are closed. */
  readonly leaving: Set<LegConnection>;
  /** One of `rtcLegs` is no longer there. */
  rtcLegLeft(): void;
  /** For the log. `fault`: what was wrong, in a sentence. */
  report(trouble: RtcTrouble, fault: string): void;
}
