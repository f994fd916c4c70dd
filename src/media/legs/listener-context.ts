/** What the legs of the listener share: one object, made by the listener. */
import type { Clock } from '../../lib/clock.ts';
import type { ReservationRefusal } from '../../model/picture.ts';
import type { Relay } from '../relay/relay.ts';

/** A leg that is there, for who keeps the listener. */
export interface LegConnection {
  /** Comes again and again: who can be asked for a sign of life is, and is cut when none came since the last time. */
  heartbeat(): void;
  /** Cuts the connection and tells nobody. */
  drop(): void;
}

/** What the legs ask of the relay. */
export type LegRelay = Pick<Relay, 'refusalOf' | 'joinDevice' | 'joinBridge' | 'watch'>;

export interface MediaListenerContext {
  readonly clock: Clock;
  readonly relay: LegRelay;
  /** Each leg is in it from its coming to its end. */
  readonly legs: Set<LegConnection>;
  /** Those that were told to go, until their connections are closed. */
  readonly leaving: Set<LegConnection>;
  /** A call was not put to an idle bridge. */
  reportDeclined(refusal: ReservationRefusal): void;
  /** A leg was closed for sending too much: of what, in a sentence. */
  reportFlood(fault: string): void;
}
