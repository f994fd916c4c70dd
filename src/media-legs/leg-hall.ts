/** What the legs of the listener share: one object, made by the listener. */

/** A leg that is there, for who keeps the listener. */
export interface Guest {
  /** Comes again and again: who can be asked for a sign of life is, and is cut when none came since the last time. */
  beat(): void;
  /** Cuts the connection and tells nobody. */
  drop(): void;
}

export interface LegHall {
  /** Each leg is in it from its coming to its end. */
  readonly guests: Set<Guest>;
  /** Those that were told to go, until their connections are closed. */
  readonly leaving: Set<Guest>;
}
