/**
 * One end of a link between two of our own processes: the channel with its messages, heartbeats both ways, and a sentence
 * about its end. What the messages mean is its owner's.
 */
import type { Duplex } from 'node:stream';
import { Channel, type ChannelEnd } from './channel.ts';
import type { Cancel, Clock } from '../clock.ts';
import type { Result } from '../result.ts';
import type { LoopProgress } from '../loop-progress.ts';

/** Bounds of a link, the same at both of its ends. */
export interface LinkBounds {
  /** Bytes of one message. */
  readonly messageBytesMax: number;
  /** Bytes that may wait for the peer; beyond it the link is cut. */
  readonly backlogBytesMax: number;
  /** Bytes beyond which the link is congested. */
  readonly congestedBytes: number;
  /** The peer's hello comes within so long. */
  readonly helloMsMax: number;
  readonly heartbeatMs: number;
  /** A peer that is silent for so long, once it has said hello, is given up. */
  readonly silenceMsMax: number;
}

/** The messages of a link and their bytes. Each fault is the end of a sentence about the peer. */
export interface LinkLanguage<Sent, Received> {
  encode(message: Sent): Buffer;
  /** The peer's first message. */
  readHello(bytes: Buffer): Result<Received, string>;
  /** Every later one. */
  read(bytes: Buffer): Result<Received, string>;
}

export interface Heartbeat {
  readonly kind: 'heartbeat';
}

export interface LinkOwner<Sent, Received> {
  readonly clock: Clock;
  /** Begins the sentences about it: `the server`, `the media process`. */
  readonly peer: string;
  readonly bounds: LinkBounds;
  readonly language: LinkLanguage<Sent | Heartbeat, Received>;
  /** A silent peer is never given up: it may be stopped for a while, and its death ends the stream. */
  readonly isPatient?: boolean;
  readonly progress: LoopProgress;
  /** The end of a sentence about what the peer did wrong, which cuts the link; null: nothing. */
  received(message: Received): string | null;
  /** Each `heartbeatMs` while it is open. */
  heartbeat(): void;
  /** All that waited to be sent has gone. */
  drained?(): void;
  /** Once. `fault`: a sentence; null: one of the two hung up in order. `how`: the kind of that end. */
  ended(fault: string | null, how: ChannelEnd['kind']): void;
}

export class Link<Sent extends object, Received> {
  readonly #owner: LinkOwner<Sent, Received>;
  readonly #channel: Channel;
  readonly #stopHeartbeats: Cancel;
  readonly #stopSigns: Cancel;
  #hasSent = false;
  /** Heartbeats since the last message came: by our own time, which stands still when this process does. */
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

  /** So much waits to be sent that what can wait has to, until `drained`. */
  get isCongested(): boolean {
    return this.#channel.waitingBytes > this.#owner.bounds.congestedBytes;
  }

  /** Does nothing when the link is at its end. Never throws. */
  send(message: Sent | Heartbeat): void {
    if (!this.#channel.isOpen) return;
    const { bounds, language } = this.#owner;
    const payload = language.encode(message);
    const bytes = this.#channel.waitingBytes + payload.length;
    this.#hasSent = true;
    if (bytes > bounds.backlogBytesMax || !this.#channel.send(payload))
      this.#channel.cut(`reads too slowly: ${bytes} bytes wait for it`);
  }

  /** Sends what waits, receives nothing any more and hangs up. Resolves when the link has ended. */
  end(): Promise<void> {
    return this.#channel.end();
  }

  #received(message: Result<Received, string>): string | null {
    this.#silentHeartbeats = 0;
    return message.ok ? this.#owner.received(message.value) : message.error;
  }

  /** Behind the stream's turn: what came while this process stood still is read before the peer is taken for dead. */
  #heartbeatSoon(): void {
    if (this.#isHeartbeatDue) return;
    this.#isHeartbeatDue = true;
    setImmediate(() => {
      this.#isHeartbeatDue = false;
      this.#heartbeat();
    });
  }

  /** The peer counts heartbeats while this end is in a turn of the loop that lasts. */
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

/** A sentence about the end of the link; null: one of the two hung up in order. */
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

/** Sends a peer away that is not wanted: `last`, then the end of its link. Never throws. */
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
