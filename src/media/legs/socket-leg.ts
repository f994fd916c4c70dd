/**
 * A device or bridge leg on a WebSocket: its frames, texts, pings and close. The leg service acts on its texts, and the relay forwards
 * its frames. Lifecycle: opening -> open -> closed. Source: calls-and-media.md, Legs.
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

/** An open leg and its side of the call, which decides how its texts are parsed. */
export type LegSide =
  | { readonly kind: 'device'; readonly leg: OpenDeviceLeg }
  | { readonly kind: 'bridge'; readonly leg: OpenBridgeLeg };

export class SocketLeg implements CallLeg, SocketOwner, LegConnection, IdleLeg {
  readonly #socket: FrameSocket;
  readonly #outbox: LegOutbox;
  readonly #context: MediaListenerContext;
  readonly #owner: LegOwner;
  readonly #allowance: Allowance<'messages' | 'texts'>;
  /** Bytes read from the wire up to the last message, headers and fragments included. */
  #bytesRead = 0;
  #stage: Stage = 'opening';
  #side: LegSide | null = null;
  /** Null: its frames are discarded, as those of a bridge without a call. */
  #joined: JoinedLeg | null = null;
  /** Reason that its frames cannot be carried; null: they are, or need not be yet. */
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
   * `open` opens the leg at the leg service, which may notify it at once. Null: it is open. `session_ended`: it was too late, and the
   * leg is closed as `ended`. Otherwise its frames cannot be carried, and it is closed for that reason.
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
    if (this.#refusal !== null) this.#rejectUncarried(side, this.#refusal);
    return this.#refusal;
  }

  /** Waits for a call: it yields its place to a bridge with fewer idle legs, or to a leg with a call. */
  standIdle(): void {
    if (this.#stage === 'open') this.#context.idleBridges.add(this.#owner, this, Infinity);
  }

  evict(): void {
    if (this.#side !== null) this.#disconnect(this.#side, idleClose);
  }

  /** Starts forwarding its frames. False: they cannot be carried, and the leg is closed; or it was closed before. */
  carry(join: (out: LegOutbox) => Result<JoinedLeg, ReservationRefusal>): boolean {
    if (this.#stage === 'closed') return false;
    this.#joined?.leave();
    const joined = join(this.#outbox);
    this.#joined = joined.ok ? joined.value : null;
    this.#refusal = joined.ok ? null : joined.error;
    if (this.#side !== null && !joined.ok) this.#rejectUncarried(this.#side, joined.error);
    return joined.ok;
  }

  received(bytes: Buffer, isBinary: boolean): void {
    const side = this.#chargedSide(!isBinary);
    if (side === null) return;
    if (!isBinary && bytes.length > mediaTextBytesMax) return this.#disconnect(side, faultCloses.tooLarge);
    const fault = isBinary ? this.#receiveFrame(side, bytes) : this.#receiveText(side, bytes);
    if (fault !== null) this.#reportFault(side, fault);
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

  closed(): void {
    const side = this.#side;
    this.#leave();
    this.#context.leaving.delete(this);
    side?.leg.disconnected();
  }

  /**
   * Any byte is a sign of life: behind a large frame a pong arrives late. A frame sent counts as well: a slow reader has to read all of
   * those before it reaches the ping.
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
    this.#closeSocket(legCloses[reason]);
  }

  drop(): void {
    if (this.#leave()) this.#socket.terminate();
  }

  /** A bridge is not offered a call that cannot be carried. Deferred by a microtask: the pool is still asking. */
  #offer(message: Extract<LegMessage, { readonly kind: 'assign' }>): void {
    const refusal = this.#context.relay.refusalOf(message.sessionId, message.media, 'frames');
    if (refusal === null) return this.#send(message);
    queueMicrotask(() => {
      if (this.#side?.kind === 'bridge') this.#side.leg.cannotCarry(refusal);
    });
  }

  /** The bridge receives `start` before any frame of the relay, and not at all if the call cannot be carried. */
  #start(message: Extract<LegMessage, { readonly kind: 'start' }>): void {
    const { sessionId, media } = message;
    const { relay, idleBridges } = this.#context;
    idleBridges.delete(this.#owner, this);
    const refusal = relay.refusalOf(sessionId, media, 'frames');
    if (refusal === null) this.#send(message);
    this.carry((out) => (refusal === null ? relay.joinBridge(sessionId, media, out) : fail(refusal)));
  }

  #send(message: LegMessage): void {
    this.#outbox.sendText(encodeLegMessage(message));
  }

  /** Charges the leg for one more message. Null: it is closed, or is closed now for exceeding its rate. */
  #chargedSide(isText: boolean): LegSide | null {
    const { bytesRead } = this.#socket;
    const nowMs = this.#context.clock.monotonicMs();
    const fault = this.#allowance.acquire(
      isText ? ['messages', 'texts'] : ['messages'],
      bytesRead - this.#bytesRead,
      nowMs,
    );
    this.#bytesRead = bytesRead;
    if (fault !== null) this.#closeForFlood(fault);
    return this.#side;
  }

  /** Also stops reading a leg that was closed before. */
  #closeForFlood(fault: string): void {
    const side = this.#side;
    const { code, reason } = faultCloses.tooMuch;
    if (this.#leave()) {
      this.#context.report('flood', fault);
      this.#outbox.sendText(encodeLegError(fault));
    }
    this.#socket.closeUnread(code, reason);
    side?.leg.disconnected();
  }

  /** Returns the fault; null: none. A frame that is not carried yet is only a sign of life. */
  #receiveFrame({ leg }: LegSide, message: Buffer): string | null {
    const header = decodeFrameHeader(message);
    if (!header.ok) return header.error;
    leg.alive('media');
    // A copy, which stays valid when the payload is transferred to another thread.
    const headerBytes = new Uint8Array(message.subarray(0, mediaFrameHeaderBytes));
    this.#joined?.frame(header.value, framePayload(message), headerBytes);
    return null;
  }

  /** Forwards the text. Returns its fault as a sentence; null: none. */
  #receiveText(side: LegSide, text: Uint8Array): string | null {
    if (side.kind === 'device') {
      const parsed = parseDeviceText(text);
      if (!parsed.ok) return parsed.error;
      if (parsed.value.kind === 'key_frame_wanted') this.#joined?.wantKeyFrame();
      else side.leg.report(parsed.value);
      return null;
    }
    const parsed = parseBridgeText(text);
    return parsed.ok ? this.#receiveBridgeText(side.leg, parsed.value) : parsed.error;
  }

  #receiveBridgeText(leg: OpenBridgeLeg, text: BridgeText): string | null {
    if (text.kind === 'answer') leg.answerAssignment(text.accepted);
    else if (text.kind === 'report') leg.report(text.report, text.about);
    else if (text.kind === 'key_frame_wanted') this.#joined?.wantKeyFrame();
    else if (this.#joined === null) return 'send uplink after the start of a call';
    else this.#joined.wants(text.wish);
    return null;
  }

  #reportFault(side: LegSide, fault: string): void {
    this.#faults += 1;
    this.#outbox.sendText(encodeLegError(fault));
    if (this.#faults >= legFaultsMax) this.#disconnect(side, faultCloses.malformed);
  }

  #rejectUncarried(side: LegSide, refusal: ReservationRefusal): void {
    this.#outbox.sendText(encodeLegError(refusalOf(refusal).sentence));
    this.#disconnect(side, fullClose);
  }

  /** Closes the leg from this side and reports it to the leg service. */
  #disconnect(side: LegSide, close: LegClose): void {
    if (this.#closeSocket(close)) side.leg.disconnected();
  }

  #closeSocket({ code, reason }: LegClose): boolean {
    if (!this.#leave()) return false;
    this.#socket.close(code, reason);
    return true;
  }

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
