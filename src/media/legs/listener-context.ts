/** The context that the listener shares with its legs. */
import type { Clock } from '../../lib/clock.ts';
import type { Crowd } from '../../lib/connections/crowd.ts';
import type { BridgeAdmission, DeviceAdmission, ViewerAdmission } from '../../core/ports/leg-service.ts';
import type { Relay } from '../relay/relay.ts';
import type { RtcTrouble } from '../webrtc/rtc-peer.ts';

export interface LegConnection {
  /** Pings the peer if it can be pinged, and cuts it if it showed no sign of life since the last heartbeat. */
  heartbeat(): void;
  /** Cuts the connection without notifying anyone. */
  drop(): void;
}

export interface IdleLeg {
  /** Closes it, because another leg needs its place. */
  evict(): void;
}

/** The owner that a leg is counted for. Empty for viewers, which have their own limit. */
export type LegOwner = `application ${string}` | `bridge ${string}` | '';

export function legOwnerOf(admission: DeviceAdmission | BridgeAdmission | ViewerAdmission): LegOwner {
  if ('appId' in admission) return `application ${admission.appId}`;
  return 'bridgeId' in admission ? `bridge ${admission.bridgeId}` : '';
}

export type LegRelay = Pick<
  Relay,
  'refusalOf' | 'joinDevice' | 'joinBridge' | 'watch' | 'watchLive' | 'view'
>;

export interface MediaListenerContext {
  readonly clock: Clock;
  readonly relay: LegRelay;
  /** Every leg from connect to end, under its `LegOwner`. */
  readonly legs: Crowd<LegConnection>;
  /** Legs over WebRTC, which hold no connection of the listener; likewise under their `LegOwner`. */
  readonly rtcLegs: Crowd<LegConnection>;
  /** Bridges among `legs` without a call. */
  readonly idleBridges: Crowd<IdleLeg>;
  /** Legs that are closing, until their connections are closed. */
  readonly leaving: Set<LegConnection>;
  rtcLegLeft(): void;
  /** Logs a problem. `fault`: a sentence. */
  report(trouble: RtcTrouble, fault: string): void;
}
