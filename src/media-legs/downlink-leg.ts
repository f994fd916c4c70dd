/**
 * A leg that only takes: a device without WebSocket, or a person who watches. It is an HTTP answer that goes on until
 * the call ends; what the call does between is not told to it. Source: calls-and-media.md, Legs.
 */
import type { CallLeg } from '../ports/call-leg.ts';
import type { OpenViewer } from '../ports/call-desk.ts';
import type { Guest, LegHall } from './leg-hall.ts';
import type { Visit } from './visit.ts';

const boundary = 'reveille-picture';
const contentType = `multipart/x-mixed-replace; boundary=${boundary}`;
const closing = `--${boundary}--\r\n`;

export class DownlinkLeg implements CallLeg, Guest {
  readonly #visit: Visit;
  readonly #hall: LegHall;
  #isClosed = false;

  constructor(visit: Visit, hall: LegHall) {
    this.#visit = visit;
    this.#hall = hall;
  }

  /** `open` tells the house. False: it was too late, or there are too many; nothing was answered. */
  enter(open: (leg: CallLeg) => OpenViewer | null): boolean {
    const opened = open(this);
    if (opened === null || this.#isClosed) return false;
    this.#hall.guests.add(this);
    this.#visit.stream(contentType, () => {
      if (this.#leave()) opened.gone();
    });
    return true;
  }

  tell(): void {}

  /** HTTP has nothing to ask it; TCP asks. */
  beat(): void {}

  close(): void {
    if (this.#leave()) this.#visit.end(closing);
  }

  drop(): void {
    if (this.#leave()) this.#visit.cut();
  }

  /** False: it has left before. */
  #leave(): boolean {
    if (this.#isClosed) return false;
    this.#isClosed = true;
    this.#hall.guests.delete(this);
    return true;
  }
}
