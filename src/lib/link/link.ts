/**
 * One end of a link between two processes of this server: the channel with its messages, heartbeats in both directions, and a
 * sentence about its end. The owner gives messages their meaning.
 */
import type { Duplex } from 'node:stream';
import { Channel, type ChannelEnd } from './channel.ts';
import type { Cancel, Clock } from '../clock.ts';
import type { Result } from '../result.ts';
import type { LoopProgress } from '../loop-progress.ts';

export interface LinkBounds {
  readonly messageBytesMax: number;
  readonly backlogBytesMax: number;
  readonly congestedBytes: number;
  /** The peer has to send its hello within this time. */
  readonly helloMsMax: number;
  readonly heartbeatMs: number;
  /** A peer that is silent for this long after its hello is disconnected. */
  readonly silenceMsMax: number;
}

/** Messages of a link and their bytes. Each fault is the end of a sentence about the peer. */
export interface LinkLanguage<Sent, Received> {
  encode(message: Sent): Buffer;
  readHello(bytes: Buffer): Result<Received, string>;
  read(bytes: Buffer): Result<Received, string>;
}

export interface Heartbeat {
  readonly kind: 'heartbeat';
}

export interface LinkOwner<Sent, Received> {
  readonly clock: Clock;
  /** Subject of sentences about it: `the server`, `the media process`. */
  readonly peer: string;
  readonly bounds: LinkBounds;
  readonly language: LinkLanguage<Sent | Heartbeat, Received>;
  /** True: a silent peer stays connected: it may be paused, and its death ends the stream. Default: false. */
  readonly isPatient?: boolean;
  readonly progress: LoopProgress;
  /** Returns null, or the end of a sentence about the peer's fault, which cuts the link. */
  received(message: Received): string | null;
  /** Called every `heartbeatMs` while the link is open. */
  heartbeat(): void;
  drained?(): void;
  /** Called once. `fault`: a sentence; null: either end closed in order. `how`: the kind of end. */
  ended(fault: string | null, how: ChannelEnd['kind']): void;
}

export class Link<Sent extends object, Received> {
  readonly #owner: LinkOwner<Sent, Received>;
  readonly #channel: Channel;
  readonly #stopHeartbeats: Cancel;
  readonly #stopSigns: Cancel;
  #hasSent = false;
  /** Heartbeat intervals since the last message arrived, counted by this process: none pass while it is paused. */
  #silentHeartbeats = 0;
  #isHeartbeatDue = false;

  constructor(stream: Duplex, owner: LinkOwner<Sent, Received>) {
    const { clock, bounds, language, progress } = owner;
    this.#owner = owner;
    this.#stopHeartbeats = clock.every(bounds.heartbeatMs, () => this.#heartbeatSoon());
    this.#stopSigns = progress.onSign(() => this.#showProgress());
    this.#channel = new Channel(stream, {
      clock,
      messageBytesMax: bounds.messageBytesMax,
      queueBytesMax: bounds.backlogBytesMax,
      endMsMax: bounds.silenceMsMax,
      greeted: (payload) => this.#received(language.readHello(payload)),
      received: (payload) => this.#received(language.read(payload)),
      drained: () => owner.drained?.(),
      ended: (how) => {
        this.#stopHeartbeats();
        this.#stopSigns();
        owner.ended(faultOf(owner.peer, how), how.kind);
      },
    });
  }

  /** So much waits that deferrable messages should wait until `drained`. */
  get isCongested(): boolean {
    return this.#channel.waitingBytes > this.#owner.bounds.congestedBytes;
  }

  /** Does nothing when the link has ended. Never throws. */
  send(message: Sent | Heartbeat): void {
    if (!this.#channel.isOpen) return;
    const { bounds, language } = this.#owner;
    const payload = language.encode(message);
    const bytes = this.#channel.waitingBytes + payload.length;
    this.#hasSent = true;
    if (bytes > bounds.backlogBytesMax || !this.#channel.send(payload))
      this.#channel.cut(`reads too slowly: ${bytes} bytes wait for it`);
  }

  /** Sends the queue, stops receiving and closes. Resolves when the link has ended. */
  end(): Promise<void> {
    return this.#channel.end();
  }

  #received(message: Result<Received, string>): string | null {
    this.#silentHeartbeats = 0;
    return message.ok ? this.#owner.received(message.value) : message.error;
  }

  /** Runs after the stream's turn: bytes that arrived while this process was paused are read before the peer is declared dead. */
  #heartbeatSoon(): void {
    if (this.#isHeartbeatDue) return;
    this.#isHeartbeatDue = true;
    setImmediate(() => {
      this.#isHeartbeatDue = false;
      this.#heartbeat();
    });
  }

  /** The peer counts heartbeats while this end is in a long turn of the event loop. */
  #showProgress(): void {
    this.#sendHeartbeat();
    this.#channel.flush();
  }

  #heartbeat(): void {
    const { isOpen, isGreeted } = this.#channel;
    if (!isOpen) return;
    const { bounds, isPatient = false } = this.#owner;
    const { heartbeatMs, silenceMsMax, helloMsMax } = bounds;
    this.#silentHeartbeats += 1;
    const silentMs = this.#silentHeartbeats * heartbeatMs;
    if (!isPatient && silentMs >= (isGreeted ? silenceMsMax : helloMsMax)) {
      this.#channel.cut(`was silent for ${silentMs} ms`);
      return;
    }
    this.#sendHeartbeat();
    this.#owner.heartbeat();
  }

  /** An end that answers the peer's hello with its own sends nothing before it. */
  #sendHeartbeat(): void {
    if (this.#hasSent) this.send({ kind: 'heartbeat' });
  }
}

/** A sentence about the end of the link; null: either end closed in order. */
function faultOf(peer: string, how: ChannelEnd): string | null {
  switch (how.kind) {
    case 'closed':
      return null;
    case 'truncated':
      return `${peer} hung up in the middle of a message`;
    case 'fault':
      return `${peer} ${how.fault}`;
    case 'broken':
      return `the link to ${peer} broke: ${how.error.message}`;
  }
}

/** Declines an unwanted peer: sends `last`, then closes the link. Never throws. */
export function declineLink(
  stream: Duplex,
  clock: Clock,
  { messageBytesMax, silenceMsMax: endMsMax }: LinkBounds,
  last: Buffer,
): void {
  const nothing = (): null => null;
  const bounds = { messageBytesMax, queueBytesMax: 0, endMsMax };
  const owner = { clock, ...bounds, greeted: nothing, received: nothing, ended: nothing };
  void new Channel(stream, owner).end(last);
}
