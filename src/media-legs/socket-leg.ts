/**
 * A leg on a WebSocket: its frames, its texts, its pings, its end. What its texts mean is its side's, and what follows
 * from them the house's. Lifecycle: opening -> open -> lost or closed. Source: calls-and-media.md, Legs.
 */
import type { LegCloseReason, LegMessage } from '../domain/call.ts';
import {
  legBacklogBytesMax,
  legFaultsMax,
  mediaMessageBytesMax,
  mediaTextBytesMax,
} from '../domain/limits.ts';
import { faultCloses, legCloses, type LegClose } from '../peer-wire/close-code.ts';
import { decodeFrameHeader } from '../peer-wire/frame-header.ts';
import { encodeLegError, encodeLegMessage } from '../peer-wire/leg-text.ts';
import type { CallLeg } from '../ports/call-leg.ts';
import { sendText, type FrameSocket, type SocketOwner } from './frame-socket.ts';
import type { Guest, LegHall } from './leg-hall.ts';
import type { LegSide } from './leg-side.ts';

/** `lost`: the house has to learn that it is gone. `closed`: the house knows. */
type Stage = 'opening' | 'open' | 'lost' | 'closed';

export class SocketLeg implements CallLeg, SocketOwner, Guest {
  readonly #socket: FrameSocket;
  readonly #hall: LegHall;
  #stage: Stage = 'opening';
  /** While it is open. */
  #side: LegSide | null = null;
  #faults = 0;

  constructor(socket: FrameSocket, hall: LegHall) {
    this.#socket = socket;
    this.#hall = hall;
  }

  /** `open` tells the house, which may speak to the leg at once. False: it was too late, and the leg is closed as `ended`. */
  enter(open: (leg: CallLeg) => LegSide | null): boolean {
    this.#hall.guests.add(this);
    const side = open(this);
    if (side === null) {
      this.close('ended');
      return false;
    }
    if (this.#stage === 'opening') {
      this.#stage = 'open';
      this.#side = side;
    } else if (this.#stage === 'lost') side.leg.gone();
    return true;
  }

  received(bytes: Uint8Array, isBinary: boolean): void {
    const side = this.#side;
    if (side === null) return;
    if (bytes.length > (isBinary ? mediaMessageBytesMax : mediaTextBytesMax)) {
      this.#expel(side, faultCloses.tooLarge);
      return;
    }
    const fault = isBinary ? takeFrame(side, bytes) : side.hear(bytes);
    if (fault !== null) this.#complain(side, fault);
  }

  /** The library answers a ping by itself, as far as the peer reads. */
  pinged(): void {
    if (this.#side === null) return;
    if (this.#socket.getBufferedAmount() > legBacklogBytesMax) this.#socket.close();
    else this.#side.leg.alive('ping');
  }

  gone(): void {
    const side = this.#side;
    this.#leave('lost');
    side?.leg.gone();
  }

  tell(message: LegMessage): void {
    this.#say(encodeLegMessage(message));
  }

  close(reason: LegCloseReason): void {
    this.#dismiss(legCloses[reason]);
  }

  drop(): void {
    if (this.#leave('closed')) this.#socket.close();
  }

  #complain(side: LegSide, fault: string): void {
    this.#faults += 1;
    this.#say(encodeLegError(fault));
    if (this.#faults >= legFaultsMax) this.#expel(side, faultCloses.malformed);
  }

  /** Closes it for what its peer did; the house does not know yet. */
  #expel(side: LegSide, close: LegClose): void {
    if (this.#dismiss(close)) side.leg.gone();
  }

  /** A socket that takes no more is closed, and its end comes as any other. */
  #say(text: string): void {
    if (this.#isHere && !sendText(this.#socket, text)) this.#socket.close();
  }

  #dismiss({ code, reason }: LegClose): boolean {
    if (!this.#leave('closed')) return false;
    this.#hall.dismissed();
    this.#socket.end(code, reason);
    return true;
  }

  get #isHere(): boolean {
    return this.#stage === 'opening' || this.#stage === 'open';
  }

  /** False: it has left before. */
  #leave(stage: 'lost' | 'closed'): boolean {
    if (!this.#isHere) return false;
    this.#stage = stage;
    this.#side = null;
    this.#hall.guests.delete(this);
    return true;
  }
}

function takeFrame({ leg }: LegSide, message: Uint8Array): string | null {
  const header = decodeFrameHeader(message);
  if (!header.ok) return header.error;
  leg.alive('media');
  return null;
}
