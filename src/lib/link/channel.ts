/**
 * Messages in both directions between two processes of this server, on one stream: framed by length, the first one a hello, with
 * a bounded queue. The owner gives messages their meaning, and decides what happens to one that finds the queue full. Lifecycle:
 * open -> ending -> ended. Effects of the owner's calls show in a later turn.
 */
import { finished, type Duplex } from 'node:stream';
import type { Cancel, Clock } from '../clock.ts';
import { encodeLengthFrame, LengthFrameDecoder } from './length-frame.ts';

/** Written at once; the rest waits in the queue. */
const pieceBytesMax = 256 * 1024;

export interface ChannelOwner {
  readonly clock: Clock;
  readonly messageBytesMax: number;
  readonly queueBytesMax: number;
  /** After `end`, the peer has this long to read the remaining bytes. */
  readonly endMsMax: number;
  /** Receives the first message. Returns null, or the end of a sentence about the peer's fault, which cuts the channel. */
  greeted(payload: Buffer): string | null;
  /** Receives every later message; returns as `greeted`. */
  received(payload: Buffer): string | null;
  drained?(): void;
  /** Called once; nothing is received afterwards. */
  ended(how: ChannelEnd): void;
}

export type ChannelEnd =
  /** Either end closed in order. */
  | { readonly kind: 'closed' }
  | { readonly kind: 'truncated' }
  /** The peer broke the protocol. `fault`: the end of a sentence about it. */
  | { readonly kind: 'fault'; readonly fault: string }
  | { readonly kind: 'broken'; readonly error: Error };

export class Channel {
  readonly #stream: Duplex;
  readonly #owner: ChannelOwner;
  readonly #queue: Buffer[] = [];
  #queueBytes = 0;
  readonly #frames: LengthFrameDecoder;
  readonly #whenEnded: Promise<void>;
  readonly #flushNow = (): void => {
    this.#isFlushDue = false;
    this.flush();
  };
  #stage: 'open' | 'ending' | 'ended' = 'open';
  #end: ChannelEnd = { kind: 'closed' };
  #isGreeted = false;
  #isFlushDue = false;
  #isWriting = false;
  #cancelGiveUp: Cancel = () => undefined;

  constructor(stream: Duplex, owner: ChannelOwner) {
    this.#stream = stream;
    this.#owner = owner;
    this.#frames = new LengthFrameDecoder(owner.messageBytesMax);
    this.#whenEnded = new Promise((resolve) => {
      finished(stream, (error) => {
        this.#close(error ?? null);
        resolve();
      });
    });
    stream.on('data', (chunk: Buffer) => this.#receive(chunk));
    stream.once('end', () => this.#hungUp());
  }

  get isOpen(): boolean {
    return this.#stage === 'open';
  }

  get isGreeted(): boolean {
    return this.#isGreeted;
  }

  /** Bytes in the queue, and bytes written that the kernel has not accepted. */
  get waitingBytes(): number {
    return this.#queueBytes + this.#stream.writableLength;
  }

  /** Enqueues a message; the messages of one turn of the event loop are written together at its end. False: the queue is full. */
  send(payload: Uint8Array): boolean {
    const frame = encodeLengthFrame(payload);
    if (this.#queueBytes + frame.length > this.#owner.queueBytesMax) return false;
    this.#queue.push(frame);
    this.#queueBytes += frame.length;
    if (!this.#isFlushDue && !this.#isWriting) {
      this.#isFlushDue = true;
      setImmediate(this.#flushNow);
    }
    return true;
  }

  /** Writes the queue within this turn, unless a write is under way. */
  flush(): void {
    // A write on a breaking stream may be reported as done.
    if (this.#stage !== 'open' || this.#stream.destroyed) return;
    if (this.#isWriting || this.#queue.length === 0) return;
    this.#isWriting = true;
    const frames = this.#dequeueFrames(pieceBytesMax);
    const last = frames.pop();
    this.#stream.cork();
    for (const frame of frames) this.#stream.write(frame);
    this.#stream.write(last, (error) => this.#written(error));
    this.#stream.uncork();
  }

  /** Writes the queue, then `last`, stops receiving and closes. Resolves when the channel has ended. */
  end(last?: Uint8Array): Promise<void> {
    if (this.#stage === 'open') {
      this.#stage = 'ending';
      this.#stream.cork();
      for (const frame of this.#dequeueFrames(Infinity)) this.#stream.write(frame);
      if (last !== undefined) this.#stream.write(encodeLengthFrame(last));
      this.#stream.end().resume();
      this.#cancelGiveUp = this.#owner.clock.after(this.#owner.endMsMax, () => this.#stream.destroy());
    }
    return this.#whenEnded;
  }

  /** Closes at once. `fault`: the end of a sentence about the peer; null: no fault. */
  cut(fault: string | null): void {
    this.#stop(fault === null ? { kind: 'closed' } : { kind: 'fault', fault });
  }

  /** The first queued frames up to about `bytesMax`, at least one if there is any. */
  #dequeueFrames(bytesMax: number): Buffer[] {
    let count = 0;
    let bytes = 0;
    for (; count < this.#queue.length && bytes < bytesMax; count++) bytes += this.#queue[count]?.length ?? 0;
    this.#queueBytes -= bytes;
    return this.#queue.splice(0, count);
  }

  #written(error: Error | null | undefined): void {
    this.#isWriting = false;
    if (error instanceof Error) return;
    if (this.#queue.length === 0) this.#owner.drained?.();
    this.flush();
  }

  #receive(chunk: Buffer): void {
    if (this.#stage !== 'open') return;
    for (const step of this.#frames.feed(chunk)) {
      const fault =
        step.kind === 'payload'
          ? this.#dispatch(step.payload)
          : `sent a message of ${step.length} bytes, where 1 to ${this.#owner.messageBytesMax} are allowed`;
      if (fault !== null) this.cut(fault);
      // The owner may have ended the channel.
      if (!this.isOpen) return;
    }
  }

  #dispatch(payload: Buffer): string | null {
    if (this.#isGreeted) return this.#owner.received(payload);
    const fault = this.#owner.greeted(payload);
    this.#isGreeted = fault === null;
    return fault;
  }

  #hungUp(): void {
    this.#stop({ kind: this.#frames.isWithin ? 'truncated' : 'closed' });
  }

  #stop(how: ChannelEnd): void {
    if (this.#stage === 'open') {
      this.#stage = 'ending';
      this.#end = how;
    }
    this.#stream.destroy();
  }

  #close(error: Error | null): void {
    if (this.#stage === 'open' && error !== null) this.#end = { kind: 'broken', error };
    this.#stage = 'ended';
    this.#cancelGiveUp();
    this.#stream.destroy();
    this.#owner.ended(this.#end);
  }
}
