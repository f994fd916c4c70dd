/**
 * Messages both ways between two of our own processes, on one stream: framed by their length, the first one a hello, so
 * many bytes waiting at most. What a message means is its owner's, and so is what becomes of one for which there is no
 * room. Lifecycle: open -> ending -> ended. What its owner does to it shows in a later turn.
 */
import { finished, type Duplex } from 'node:stream';
import type { Cancel, Clock } from '../clock.ts';
import { encodeLengthFrame, LengthFrameDecoder } from './length-frame.ts';

/** Written at once; the rest waits in the queue, where it can be taken back. */
const pieceBytesMax = 256 * 1024;

export interface ChannelOwner {
  readonly clock: Clock;
  /** Of one message from the peer. */
  readonly messageBytesMax: number;
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
  readonly #queue: ChannelQueue;
  readonly #frames: LengthFrameDecoder;
  readonly #whenEnded: Promise<void>;
  readonly #flushNow = (): void => {
    this.#isFlushDue = false;
    this.#flush();
  };
  #stage: 'open' | 'ending' | 'ended' = 'open';
  #end: ChannelEnd = { kind: 'closed' };
  #isGreeted = false;
  /** The peer wants what waits in the queue. */
  #isFlowing = false;
  #isFlushDue = false;
  #isWriting = false;
  #cancelGiveUp: Cancel = () => undefined;

  /** `queue` may outlive the channel: what it holds goes once `flow` was called. */
  constructor(stream: Duplex, queue: ChannelQueue, owner: ChannelOwner) {
    this.#stream = stream;
    this.#queue = queue;
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
    return this.#queue.bytes + this.#stream.writableLength;
  }

  /** Ahead of what waits in the queue. */
  greet(payload: Uint8Array): void {
    this.#stream.write(encodeLengthFrame(payload));
  }

  /** From now on what waits in the queue is written, that of one turn in one piece. */
  flow(): void {
    this.#isFlowing = true;
    this.flushSoon();
  }

  /** From now on it waits again, for another channel: only what is being written goes. */
  hold(): void {
    this.#isFlowing = false;
  }

  /** There is more in the queue: what a turn of the loop put there goes at its end, in one write. */
  flushSoon(): void {
    if (this.#isFlushDue || this.#isWriting || !this.#isFlowing) return;
    this.#isFlushDue = true;
    setImmediate(this.#flushNow);
  }

  /** The same within this turn. */
  flush(): void {
    this.#flush();
  }

  /** Writes what waits, and `last` behind it; receives nothing any more and hangs up. Resolves when the channel has ended. */
  end(last?: Uint8Array): Promise<void> {
    if (this.#stage === 'open') {
      this.#stage = 'ending';
      this.#stream.cork();
      for (const frame of this.#queue.take(Infinity)) this.#stream.write(frame);
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

  #flush(): void {
    // A write on a stream that breaks may be reported as done.
    if (!this.#isFlowing || this.#stage !== 'open' || this.#stream.destroyed) return;
    if (this.#isWriting || this.#queue.isEmpty) return;
    this.#isWriting = true;
    const frames = this.#queue.take(pieceBytesMax);
    const last = frames.pop();
    this.#stream.cork();
    for (const frame of frames) this.#stream.write(frame);
    this.#stream.write(last, (error) => this.#written(error));
    this.#stream.uncork();
  }

  #written(error: Error | null | undefined): void {
    this.#isWriting = false;
    if (error instanceof Error) return;
    if (this.#queue.isEmpty) this.#owner.drained?.();
    this.#flush();
  }

  #receive(chunk: Buffer): void {
    if (this.#stage !== 'open') return;
    for (const step of this.#frames.feed(chunk)) {
      const fault =
        step.kind === 'payload'
          ? this.#take(step.payload)
          : `sent a message of ${step.length} bytes, where 1 to ${this.#owner.messageBytesMax} are in order`;
      if (fault !== null) this.cut(fault);
      // The owner may have ended it.
      if (!this.isOpen) return;
    }
  }

  #take(payload: Buffer): string | null {
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

/** Messages that wait to be sent, framed, in their order, each under a key by which it can be taken back. */
export class ChannelQueue {
  readonly #bytesMax: number;
  readonly #frames = new Map<number, Buffer>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#frames.size === 0;
  }

  /** False: there is no room for it. `key`: of no other message that waits. */
  put(key: number, payload: Uint8Array): boolean {
    const frame = encodeLengthFrame(payload);
    if (this.#bytes + frame.length > this.#bytesMax) return false;
    this.#frames.set(key, frame);
    this.#bytes += frame.length;
    return true;
  }

  has(key: number): boolean {
    return this.#frames.has(key);
  }

  /** True: it was still here, and nobody has seen it. */
  takeBack(key: number): boolean {
    const frame = this.#frames.get(key);
    if (frame === undefined) return false;
    this.#frames.delete(key);
    this.#bytes -= frame.length;
    return true;
  }

  /** The first of them, up to about `bytesMax`; one at least, if there is one. */
  take(bytesMax: number): Buffer[] {
    const taken: Buffer[] = [];
    let bytes = 0;
    for (const [key, frame] of this.#frames) {
      this.#frames.delete(key);
      taken.push(frame);
      bytes += frame.length;
      if (bytes >= bytesMax) break;
    }
    this.#bytes -= bytes;
    return taken;
  }

  clear(): void {
    this.#frames.clear();
    this.#bytes = 0;
  }
}
