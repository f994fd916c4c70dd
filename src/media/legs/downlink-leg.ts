/**
 * A leg that only takes: a device without WebSocket, or a person who watches. It is an HTTP answer that goes on until
 * the call ends; what the call does between is not told to it. Source: calls-and-media.md, Legs.
 */
import type { Cancel } from '../../lib/clock.ts';
import type { Outcome } from '../../lib/outcome.ts';
import { legLingerMsMax } from '../../model/limits.ts';
import type { CarriageRefusal } from '../../model/picture.ts';
import type { OpenViewer } from '../../core/ports/call-desk.ts';
import type { CallLeg } from '../../core/ports/call-leg.ts';
import type { JoinedLeg, PictureOutput } from '../relay/output.ts';
import type { Guest, LegHall } from './leg-hall.ts';
import type { Visit } from './visit.ts';

const boundary = 'reveille-picture';
const contentType = `multipart/x-mixed-replace; boundary=${boundary}`;
const closing = `--${boundary}--\r\n`;

/** `open` tells the house, `join` the relay: each whether it will have the leg. */
export interface DownlinkDoors {
  readonly open: (leg: CallLeg) => OpenViewer | null;
  readonly join: (out: DownlinkLeg) => Outcome<JoinedLeg, CarriageRefusal>;
}

export class DownlinkLeg implements CallLeg, PictureOutput, Guest {
  readonly takes = 'pictures';
  readonly #visit: Visit;
  readonly #hall: LegHall;
  #opened: OpenViewer | null = null;
  #joined: JoinedLeg | null = null;
  #isClosed = false;
  /** Pictures that it was sent, and those of them that the system has taken. */
  #begun = 0;
  #taken = 0;
  /** The one that was on its way at the last beat; 0: none was. */
  #awaited = 0;
  #stopLingering: Cancel = () => undefined;

  constructor(visit: Visit, hall: LegHall) {
    this.#visit = visit;
    this.#hall = hall;
  }

  /** Null: it is in. Else nothing was answered; `late`: the house will not have it any more, or has too many. */
  enter({ open, join }: DownlinkDoors): 'late' | CarriageRefusal | null {
    this.#opened = open(this);
    if (this.#opened === null || this.#isClosed) return 'late';
    const joined = join(this);
    if (!joined.ok) {
      this.#isClosed = true;
      this.#opened.gone();
      return joined.error;
    }
    this.#joined = joined.value;
    this.#hall.guests.add(this);
    this.#begin();
    return null;
  }

  tell(): void {}

  sendPicture(jpeg: Uint8Array, sent: () => void): void {
    this.#begin();
    const head = `--${boundary}\r\nContent-Type: image/jpeg\r\nContent-Length: ${jpeg.length}\r\n\r\n`;
    this.#begun += 1;
    this.#visit.write([head, jpeg, '\r\n'], () => {
      this.#taken += 1;
      sent();
    });
  }

  /** It has nothing to say: whether it is there shows in its reading, and where nothing is to be read TCP asks. */
  beat(): void {
    const onItsWay = this.#begun > this.#taken ? this.#begun : 0;
    if (onItsWay > 0 && onItsWay === this.#awaited) this.#visit.cut();
    this.#awaited = onItsWay;
  }

  /** Who does not read what is left is cut. */
  close(): void {
    if (!this.#leave() || this.#opened === null) return;
    this.#hall.leaving.add(this);
    this.#stopLingering = this.#hall.clock.after(legLingerMsMax, () => this.#visit.cut());
    this.#visit.end(closing);
  }

  drop(): void {
    if (this.#leave()) this.#visit.cut();
  }

  /** The relay may have a picture for it before `enter` has come to its end. */
  #begin(): void {
    this.#visit.stream(contentType, () => this.#gone());
  }

  #gone(): void {
    this.#hall.leaving.delete(this);
    this.#stopLingering();
    if (this.#leave()) this.#opened?.gone();
  }

  /** False: it has left before. */
  #leave(): boolean {
    if (this.#isClosed) return false;
    this.#isClosed = true;
    this.#joined?.leave();
    this.#hall.guests.delete(this);
    return true;
  }
}
