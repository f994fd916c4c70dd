/** What the legs of the listener share: one object, made by the listener. */

/** A leg that is there, for who closes the listener. */
export interface Guest {
  /** Cuts the connection and tells nobody. */
  drop(): void;
}

export interface LegHall {
  /** Each leg is in it from its coming to its end. */
  readonly guests: Set<Guest>;
  /** A socket was told to go, and may hang on for a while. */
  dismissed(): void;
}
