/**
 * Messages both ways between two of our own processes, on one stream: framed by their length, the first one a hello, so
 * many bytes waiting at most. What a message means is its owner's, and so is the fate of one for which there is no room. Lifecycle: open -> ending -> ended. What its owner does to it shows in a later turn.
 */
import { finished, type Duplex } from 'node:stream';
import type { Cancel, Clock } from '../clock.ts';
import { encodeLengthFrame, LengthFrameDecoder } from './length-frame.ts';

/** Written at once; the rest waits in the queue. */
const pieceBytesMax = 256 * 1024;

export interface ChannelOwner {
  readonly clock: Clock;
  /** Of one message from the peer. */
  readonly messageBytesMax: number;
  /** Bytes that may wait in the queue. */
  readonly queueBytesMax: number;
  /** After `end` the peer has so long to take what was sent. */
  readonly endMsMax: number;
  /** The first message. The end of a sentence about what the peer did wrong, which cuts the channel; null: nothing. */
  greeted(payload: Buffer): string | null;
  /** Every other one; the same. */
  received(payload: Buffer): string | null;
  /** All that waited has been written. */
  drained?(): void;
  /** Once, and nothing is received any more. */
  ended(how: ChannelEnd): void;
}

export type ChannelEnd =
  /** By either end, in order. */
  | { readonly kind: 'closed' }
  /** The peer hung up in the middle of a message. */
  | { readonly kind: 'truncated' }
  /** The peer did wrong: the end of a sentence about it. */
  | { readonly kind: 'fault'; readonly fault: string }
  | { readonly kind: 'broken'; readonly error: Error };

export class Channel {
  readonly #stream: Duplex;
  readonly #owner: ChannelOwner;
  /** Framed, in their order. */
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

  /** The peer's hello has come. */
  get isGreeted(): boolean {
    return this.#isGreeted;
  }

  /** In the queue, and written but not taken by the system yet. */
  get waitingBytes(): number {
    return this.#queueBytes + this.#stream.writableLength;
  }

  /** All that one turn of the loop sends is written at its end, in one piece. False: there is no room for it. */
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

  /** Writes what waits within this turn, if nothing is being written. */
  flush(): void {
    // A write on a stream that breaks may be reported as done.
    if (this.#stage !== 'open' || this.#stream.destroyed) return;
    if (this.#isWriting || this.#queue.length === 0) return;
    this.#isWriting = true;
    const frames = this.#take(pieceBytesMax);
    const last = frames.pop();
    this.#stream.cork();
    for (const frame of frames) this.#stream.write(frame);
    this.#stream.write(last, (error) => this.#written(error));
    this.#stream.uncork();
  }

  /** Writes what waits, and `last` behind it; receives nothing any more and hangs up. Resolves when the channel has ended. */
  end(last?: Uint8Array): Promise<void> {
    if (this.#stage === 'open') {
      this.#stage = 'ending';
      this.#stream.cork();
      for (const frame of this.#take(Infinity)) this.#stream.write(frame);
      if (last !== undefined) this.#stream.write(encodeLengthFrame(last));
      this.#stream.end().resume();
      this.#cancelGiveUp = this.#owner.clock.after(this.#owner.endMsMax, () => this.#stream.destroy());
    }
    return this.#whenEnded;
  }

  /** Hangs up at once. `fault`: the end of a sentence about the peer; null: it did nothing wrong. */
  cut(fault: string | null): void {
    this.#stop(fault === null ? { kind: 'closed' } : { kind: 'fault', fault });
  }

  /** The first of those that wait, up to about `bytesMax`; one at least, if there is one. */
  #take(bytesMax: number): Buffer[] {
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
          ? this.#hear(step.payload)
          : `sent a message of ${step.length} bytes, where 1 to ${this.#owner.messageBytesMax} are in order`;
      if (fault !== null) this.cut(fault);
      // The owner may have ended it.
      if (!this.isOpen) return;
    }
  }

  #hear(payload: Buffer): string | null {
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
