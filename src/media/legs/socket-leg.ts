/**
 * A leg on a WebSocket: its frames, its texts, its pings, its end. What its texts mean is its side's, what follows from
 * them the house's, and where its frames go the relay's. Lifecycle: opening -> open -> closed. Source:
 * calls-and-media.md, Legs.
 */
import type { Result } from '../../lib/result.ts';
import type { LegCloseReason, LegMessage, LegRefusal } from '../../model/call.ts';
import { legFaultsMax, mediaFrameHeaderBytes, mediaTextBytesMax } from '../../model/limits.ts';
import type { ReservationRefusal } from '../../model/picture.ts';
import { faultCloses, fullClose, legCloses, type LegClose } from '../../protocol/media/close-code.ts';
import { decodeFrameHeader } from '../../protocol/media/frame-header.ts';
import { encodeLegError, encodeLegMessage } from '../../protocol/media/leg-text.ts';
import type { CallLeg } from '../../core/ports/call-leg.ts';
import type { JoinedLeg } from '../relay/output.ts';
import { payloadOf } from './frame-payload.ts';
import type { FrameSocket, SocketOwner } from './frame-socket.ts';
import { LegAllowance } from './leg-allowance.ts';
import type { LegConnection, MediaListenerContext } from './listener-context.ts';
import { LegOutbox } from './leg-outbox.ts';
import type { LegSide } from './leg-side.ts';
import { refusalOf } from './refusal.ts';

type Stage = 'opening' | 'open' | 'closed';

export class SocketLeg implements CallLeg, SocketOwner, LegConnection {
  readonly #socket: FrameSocket;
  readonly #outbox: LegOutbox;
  readonly #context: MediaListenerContext;
  readonly #allowance: LegAllowance;
  #stage: Stage = 'opening';
  /** While it is open. */
  #side: LegSide | null = null;
  /** Null: its frames go nowhere, as those of a bridge without a call. */
  #joined: JoinedLeg | null = null;
  /** Why nobody carries its frames; null: somebody does, or they are not to be carried yet. */
  #refusal: ReservationRefusal | null = null;
  #faults = 0;
  /** How much had come in and gone out at the last beat. */
  #progress = -1;

  constructor(socket: FrameSocket, context: MediaListenerContext) {
    this.#socket = socket;
    this.#outbox = new LegOutbox(socket);
    this.#context = context;
    this.#allowance = new LegAllowance(context.clock.monotonicMs());
  }

  /**
   * `open` tells the house, which may speak to the leg at once. Null: it is in. `session_ended`: it was too late, and
   * the leg is closed as `ended`. Else nobody can carry its frames, and it is closed for that.
   */
  enter(open: (leg: SocketLeg) => LegSide | null): LegRefusal | null {
    this.#context.legs.add(this);
    const side = open(this);
    if (side === null) {
      this.close('ended');
      return 'session_ended';
    }
    if (this.#stage !== 'opening') return null;
    this.#stage = 'open';
    this.#side = side;
    if (this.#refusal !== null) this.#turnOut(side, this.#refusal);
    return this.#refusal;
  }

  /** Its frames go to and fro from now on. False: nobody can carry them, and it is closed for that; or it is closed. */
  carry(join: (out: LegOutbox) => Result<JoinedLeg, ReservationRefusal>): boolean {
    if (this.#stage === 'closed') return false;
    this.#joined?.leave();
    const joined = join(this.#outbox);
    this.#joined = joined.ok ? joined.value : null;
    this.#refusal = joined.ok ? null : joined.error;
    if (this.#side !== null && !joined.ok) this.#turnOut(this.#side, joined.error);
    return joined.ok;
  }

  received(bytes: Buffer, isBinary: boolean): void {
    const side = this.#sideThatHears(!isBinary);
    if (side === null) return;
    if (!isBinary && bytes.length > mediaTextBytesMax) {
      this.#disconnect(side, faultCloses.tooLarge);
      return;
    }
    const fault = isBinary ? this.#takeFrame(side, bytes) : side.hear(bytes);
    if (fault !== null) this.#complain(side, fault);
  }

  /** In the place of a bridge that cannot be asked. */
  answer(text: Buffer): void {
    this.#side?.hear(text);
  }

  pinged(): void {
    const side = this.#sideThatHears(false);
    if (side === null) return;
    if (this.#outbox.isUnwakeable) this.#socket.terminate();
    else side.leg.alive('ping');
  }

  ponged(): void {
    this.#sideThatHears(false);
  }

  failed(): void {
    const side = this.#side;
    if (this.#leave()) this.#context.leaving.add(this);
    side?.leg.gone();
  }

  gone(): void {
    const side = this.#side;
    this.#leave();
    this.#context.leaving.delete(this);
    side?.leg.gone();
  }

  /**
   * Any byte is a sign of life: behind a large frame the answer to a ping comes late. So is a frame that has gone out:
   * who reads slowly has all those to read before it comes to the ping.
   */
  heartbeat(): void {
    const progress = this.#socket.bytesRead + this.#outbox.framesSent;
    if (progress === this.#progress) {
      this.#socket.terminate();
      return;
    }
    this.#progress = progress;
    this.#socket.ping();
  }

  notify(message: LegMessage): void {
    if (this.#stage !== 'closed') this.#outbox.say(encodeLegMessage(message));
  }

  close(reason: LegCloseReason): void {
    this.#dismiss(legCloses[reason]);
  }

  drop(): void {
    if (this.#leave()) this.#socket.terminate();
  }

  /** One more message has come. Null: nobody hears it, since the leg is closed, or is so now for having sent too much. */
  #sideThatHears(isText: boolean): LegSide | null {
    const { clock } = this.#context;
    const fault = this.#allowance.take(isText, this.#socket.bytesRead, clock.monotonicMs());
    if (fault !== null) this.#cutOff(fault);
    return this.#side;
  }

  /** Also who was told to go already is not read any more. */
  #cutOff(fault: string): void {
    const side = this.#side;
    const { code, reason } = faultCloses.tooMuch;
    if (this.#leave()) {
      this.#context.reportFlood(fault);
      this.#context.leaving.add(this);
      this.#outbox.say(encodeLegError(fault));
    }
    this.#socket.closeUnwakeable(code, reason);
    side?.leg.gone();
  }

  /** Returns what is wrong with it; null: nothing. Where nobody carries it yet, it is a sign of life and no more. */
  #takeFrame({ leg }: LegSide, message: Buffer): string | null {
    const header = decodeFrameHeader(message);
    if (!header.ok) return header.error;
    leg.alive('media');
    // The header is a copy: it stays when the payload is moved away from behind it.
    const headerBytes = new Uint8Array(message.subarray(0, mediaFrameHeaderBytes));
    this.#joined?.frame(header.value, payloadOf(message), headerBytes);
    return null;
  }

  #complain(side: LegSide, fault: string): void {
    this.#faults += 1;
    this.#outbox.say(encodeLegError(fault));
    if (this.#faults >= legFaultsMax) this.#disconnect(side, faultCloses.malformed);
  }

  #turnOut(side: LegSide, refusal: ReservationRefusal): void {
    this.#outbox.say(encodeLegError(refusalOf(refusal).sentence));
    this.#disconnect(side, fullClose);
  }

  /** Closes it from here; the house does not know yet. */
  #disconnect(side: LegSide, close: LegClose): void {
    if (this.#dismiss(close)) side.leg.gone();
  }

  #dismiss({ code, reason }: LegClose): boolean {
    if (!this.#leave()) return false;
    this.#context.leaving.add(this);
    this.#socket.close(code, reason);
    return true;
  }

  /** False: it has left before. */
  #leave(): boolean {
    if (this.#stage === 'closed') return false;
    this.#stage = 'closed';
    this.#side = null;
    this.#joined?.leave();
    this.#joined = null;
    this.#context.legs.delete(this);
    return true;
  }
}
