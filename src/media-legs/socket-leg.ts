/**
 * A leg on a WebSocket: its frames, its texts, its pings, its end. What its texts mean is its side's, and what follows
 * from them the house's. Lifecycle: opening -> open -> closed. Source: calls-and-media.md, Legs.
 */
import type { LegCloseReason, LegMessage } from '../domain/call.ts';
import { legBacklogBytesMax, legFaultsMax, mediaTextBytesMax } from '../domain/limits.ts';
import { faultCloses, legCloses, type LegClose } from '../peer-wire/close-code.ts';
import { decodeFrameHeader } from '../peer-wire/frame-header.ts';
import { encodeLegError, encodeLegMessage } from '../peer-wire/leg-text.ts';
import type { CallLeg } from '../ports/call-leg.ts';
import type { FrameSocket, SocketOwner } from './frame-socket.ts';
import type { Guest, LegHall } from './leg-hall.ts';
import type { LegSide } from './leg-side.ts';

type Stage = 'opening' | 'open' | 'closed';

export class SocketLeg implements CallLeg, SocketOwner, Guest {
  readonly #socket: FrameSocket;
  readonly #hall: LegHall;
  #stage: Stage = 'opening';
  /** While it is open. */
  #side: LegSide | null = null;
  #faults = 0;
  /** Of the socket, at the last beat. */
  #bytesRead = -1;

  constructor(socket: FrameSocket, hall: LegHall) {
    this.#socket = socket;
    this.#hall = hall;
  }

  /** `open` tells the house, which may speak to the leg at once. False: it was too late, and the leg is closed as `ended`. */
  enter(open: (leg: CallLeg) => LegSide | null): boolean {
    this.#hall.guests.add(this);
    const side = open(this);
    if (side === null) this.close('ended');
    else if (this.#stage === 'opening') {
      this.#stage = 'open';
      this.#side = side;
    }
    return side !== null;
  }

  received(bytes: Buffer, isBinary: boolean): void {
    const side = this.#side;
    if (side === null) return;
    if (!isBinary && bytes.length > mediaTextBytesMax) {
      this.#expel(side, faultCloses.tooLarge);
      return;
    }
    const fault = isBinary ? takeFrame(side, bytes) : side.hear(bytes);
    if (fault !== null) this.#complain(side, fault);
  }

  pinged(): void {
    if (this.#side === null) return;
    if (this.#isDeaf) this.#socket.terminate();
    else this.#side.leg.alive('ping');
  }

  failed(): void {
    const side = this.#side;
    if (this.#leave()) this.#hall.leaving.add(this);
    side?.leg.gone();
  }

  gone(): void {
    const side = this.#side;
    this.#leave();
    this.#hall.leaving.delete(this);
    side?.leg.gone();
  }

  /** Any byte is a sign of life: behind a large frame the answer to a ping comes late. */
  beat(): void {
    const { bytesRead } = this.#socket;
    if (bytesRead === this.#bytesRead) {
      this.#socket.terminate();
      return;
    }
    this.#bytesRead = bytesRead;
    this.#socket.ping();
  }

  tell(message: LegMessage): void {
    this.#say(encodeLegMessage(message));
  }

  close(reason: LegCloseReason): void {
    this.#dismiss(legCloses[reason]);
  }

  drop(): void {
    if (this.#leave()) this.#socket.terminate();
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

  /** A leg that takes no more is cut, and its end comes as any other. */
  #say(text: string): void {
    if (this.#stage === 'closed') return;
    if (this.#isDeaf) this.#socket.terminate();
    else this.#socket.send(text);
  }

  get #isDeaf(): boolean {
    return this.#socket.bufferedAmount > legBacklogBytesMax;
  }

  #dismiss({ code, reason }: LegClose): boolean {
    if (!this.#leave()) return false;
    this.#hall.leaving.add(this);
    this.#socket.close(code, reason);
    return true;
  }

  /** False: it has left before. */
  #leave(): boolean {
    if (this.#stage === 'closed') return false;
    this.#stage = 'closed';
    this.#side = null;
    this.#hall.guests.delete(this);
    return true;
  }
}

function takeFrame({ leg }: LegSide, message: Buffer): string | null {
  const header = decodeFrameHeader(message);
  if (!header.ok) return header.error;
  leg.alive('media');
  return null;
}
