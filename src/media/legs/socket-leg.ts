/**
 * A leg of a device or a bridge on a WebSocket: its frames, texts, pings and end. What follows from its texts is the leg
 * service's decision, and where its frames go is the relay's. Lifecycle: opening -> open -> closed. Source:
 * calls-and-media.md, Legs.
 */
import { fail, type Result } from '../../lib/result.ts';
import { Allowance } from '../../lib/token-bucket.ts';
import type { LegCloseReason, LegMessage, LegRefusal } from '../../model/call.ts';
import { legFaultsMax, legRatesMax, mediaFrameHeaderBytes, mediaTextBytesMax } from '../../model/limits.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import {
  type BridgeText,
  parseBridgeText,
  parseDeviceText,
  faultCloses,
  fullClose,
  idleClose,
  legCloses,
  type LegClose,
  encodeLegError,
  encodeLegMessage,
} from '../../protocol/media/leg-text.ts';
import { decodeFrameHeader, framePayload } from '../../protocol/media/frame-header.ts';
import type { CallLeg, OpenBridgeLeg, OpenDeviceLeg } from '../../core/ports/leg-service.ts';
import type { JoinedLeg } from '../relay/send-queue.ts';
import { type FrameSocket, type SocketOwner, LegOutbox } from './web-socket.ts';
import type { IdleLeg, LegConnection, LegOwner, MediaListenerContext } from './listener-context.ts';
import { refusalOf } from './refusal.ts';

type Stage = 'opening' | 'open' | 'closed';

/** An open leg and the side of the call it is on, which decides how its texts are read. */
export type LegSide =
  | { readonly kind: 'device'; readonly leg: OpenDeviceLeg }
  | { readonly kind: 'bridge'; readonly leg: OpenBridgeLeg };

export class SocketLeg implements CallLeg, SocketOwner, LegConnection, IdleLeg {
  readonly #socket: FrameSocket;
  readonly #outbox: LegOutbox;
  readonly #context: MediaListenerContext;
  readonly #owner: LegOwner;
  readonly #allowance: Allowance<'messages' | 'texts'>;
  /** Off the wire, headers and fragments included, at the last message. */
  #bytesRead = 0;
  #stage: Stage = 'opening';
  /** Set while the leg is open. */
  #side: LegSide | null = null;
  /** Null: its frames go nowhere, as those of a bridge without a call. */
  #joined: JoinedLeg | null = null;
  /** Why nobody carries its frames; null: somebody does, or they are not to be carried yet. */
  #refusal: ReservationRefusal | null = null;
  #faults = 0;
  /** Bytes received and frames sent at the last heartbeat. */
  #progress = -1;

  constructor(socket: FrameSocket, context: MediaListenerContext, owner: LegOwner) {
    this.#owner = owner;
    this.#socket = socket;
    this.#outbox = new LegOutbox(socket, () => this.#side?.leg.report({ kind: 'end', reason: 'error' }));
    this.#context = context;
    this.#allowance = new Allowance('a leg', legRatesMax, context.clock.monotonicMs());
  }

  /**
   * `open` opens the leg at the leg service, which may speak to it at once. Null: it is open. `session_ended`: it was
   * too late, and the leg is closed as `ended`. Otherwise nobody can carry its frames, and it is closed for that.
   */
  enter(open: (leg: SocketLeg) => LegSide | null): LegRefusal | null {
    this.#context.legs.add(this.#owner, this);
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

  /** It waits for a call: it yields its place to a bridge that has fewer idle legs, or to a leg with a call. */
  standIdle(): void {
    if (this.#stage === 'open') this.#context.idleBridges.add(this.#owner, this, Infinity);
  }

  evict(): void {
    if (this.#side !== null) this.#disconnect(this.#side, idleClose);
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
    const side = this.#chargedSide(!isBinary);
    if (side === null) return;
    if (!isBinary && bytes.length > mediaTextBytesMax) return this.#disconnect(side, faultCloses.tooLarge);
    const fault = isBinary ? this.#takeFrame(side, bytes) : this.#takeText(side, bytes);
    if (fault !== null) this.#complain(side, fault);
  }

  pinged(): void {
    const side = this.#chargedSide(false);
    if (side === null) return;
    if (this.#outbox.isBacklogged) this.#socket.terminate();
    else side.leg.alive('ping');
  }

  ponged(): void {
    this.#chargedSide(false);
  }

  failed(): void {
    const side = this.#side;
    this.#leave();
    side?.leg.disconnected();
  }

  gone(): void {
    const side = this.#side;
    this.#leave();
    this.#context.leaving.delete(this);
    side?.leg.disconnected();
  }

  /**
   * Any byte is a sign of life: behind a large frame the answer to a ping comes late. So is a frame that has gone out:
   * a slow reader has all those to read before it comes to the ping.
   */
  heartbeat(): void {
    const progress = this.#socket.bytesRead + this.#outbox.framesSent;
    if (progress === this.#progress) return this.#socket.terminate();
    this.#progress = progress;
    this.#socket.ping();
  }

  notify(message: LegMessage): void {
    if (this.#stage === 'closed') return;
    if (message.kind === 'assign') this.#offer(message);
    else if (message.kind === 'start') this.#start(message);
    else this.#send(message);
  }

  close(reason: LegCloseReason): void {
    this.#dismiss(legCloses[reason]);
  }

  drop(): void {
    if (this.#leave()) this.#socket.terminate();
  }

  /** The bridge does not learn of a call that nobody could carry. Behind the caller's turn: the pool is still asking. */
  #offer(message: Extract<LegMessage, { readonly kind: 'assign' }>): void {
    const refusal = this.#context.relay.refusalOf(message.sessionId, message.media, 'frames');
    if (refusal === null) return this.#send(message);
    queueMicrotask(() => {
      if (this.#side?.kind === 'bridge') this.#side.leg.cannotCarry(refusal);
    });
  }

  /** The bridge learns of the start before anything the relay has for it, and not at all if nobody can carry the call. */
  #start(message: Extract<LegMessage, { readonly kind: 'start' }>): void {
    const { sessionId, media } = message;
    const { relay, idleBridges } = this.#context;
    idleBridges.delete(this.#owner, this);
    const refusal = relay.refusalOf(sessionId, media, 'frames');
    if (refusal === null) this.#send(message);
    this.carry((out) => (refusal === null ? relay.joinBridge(sessionId, media, out) : fail(refusal)));
  }

  #send(message: LegMessage): void {
    this.#outbox.say(encodeLegMessage(message));
  }

  /** Charges the leg for one more message. Null: the leg is closed, or is closed now for having sent too much. */
  #chargedSide(isText: boolean): LegSide | null {
    const { bytesRead } = this.#socket;
    const nowMs = this.#context.clock.monotonicMs();
    const fault = this.#allowance.acquire(
      isText ? ['messages', 'texts'] : ['messages'],
      bytesRead - this.#bytesRead,
      nowMs,
    );
    this.#bytesRead = bytesRead;
    if (fault !== null) this.#cutOff(fault);
    return this.#side;
  }

  /** A leg that was told to go already is not read any more either. */
  #cutOff(fault: string): void {
    const side = this.#side;
    const { code, reason } = faultCloses.tooMuch;
    if (this.#leave()) {
      this.#context.report('flood', fault);
      this.#outbox.say(encodeLegError(fault));
    }
    this.#socket.closeUnread(code, reason);
    side?.leg.disconnected();
  }

  /** Returns what is wrong with it; null: nothing. Where nobody carries it yet, it is a sign of life and no more. */
  #takeFrame({ leg }: LegSide, message: Buffer): string | null {
    const header = decodeFrameHeader(message);
    if (!header.ok) return header.error;
    leg.alive('media');
    // The header is a copy: it stays when the payload is moved away from behind it.
    const headerBytes = new Uint8Array(message.subarray(0, mediaFrameHeaderBytes));
    this.#joined?.frame(header.value, framePayload(message), headerBytes);
    return null;
  }

  /** Passes on what the text says. Returns what is wrong with it, in a sentence; null: nothing. */
  #takeText(side: LegSide, text: Uint8Array): string | null {
    if (side.kind === 'device') {
      const parsed = parseDeviceText(text);
      if (!parsed.ok) return parsed.error;
      if (parsed.value.kind === 'key_frame_wanted') this.#joined?.wantKeyFrame();
      else side.leg.report(parsed.value);
      return null;
    }
    const parsed = parseBridgeText(text);
    return parsed.ok ? this.#takeBridgeText(side.leg, parsed.value) : parsed.error;
  }

  #takeBridgeText(leg: OpenBridgeLeg, said: BridgeText): string | null {
    if (said.kind === 'answer') leg.answerAssignment(said.accepted);
    else if (said.kind === 'report') leg.report(said.report, said.about);
    else if (said.kind === 'key_frame_wanted') this.#joined?.wantKeyFrame();
    else if (this.#joined === null) return 'an uplink is asked for after the start of a call';
    else this.#joined.wants(said.wish);
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

  /** Closes the leg from here; the leg service does not know yet. */
  #disconnect(side: LegSide, close: LegClose): void {
    if (this.#dismiss(close)) side.leg.disconnected();
  }

  #dismiss({ code, reason }: LegClose): boolean {
    if (!this.#leave()) return false;
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
    this.#context.leaving.add(this);
    this.#context.legs.delete(this.#owner, this);
    this.#context.idleBridges.delete(this.#owner, this);
    return true;
  }
}
