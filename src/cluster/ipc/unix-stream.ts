/**
 * A connection to another process of this machine: what comes is cut into messages; what waits in a queue is written as
 * fast as the other end takes it, all of one turn in one piece. What has been taken from the queue may have arrived.
 */
import type { Socket } from 'node:net';
import { encodeLengthFrame, LengthFrameDecoder } from '../../lib/length-frame.ts';
import { peerMessageBytesMax } from '../../model/limits.ts';
import type { UnixFrameQueue } from './unix-frame-queue.ts';

/** Written at once; the rest waits in the queue, where it can be taken back. */
const pieceBytesMax = 256 * 1024;

export interface UnixStreamOwner {
  /** What is wrong with it, as the end of a sentence about the other process, which cuts the connection; null: nothing. */
  received(payload: Buffer): string | null;
  /** Once, and nothing is received any more. `fault`: the end of a sentence; null: it hung up, or we did. */
  ended(fault: string | null): void;
}

export class UnixStream {
  readonly #socket: Socket;
  readonly #queue: UnixFrameQueue;
  readonly #owner: UnixStreamOwner;
  readonly #frames = new LengthFrameDecoder(peerMessageBytesMax);
  readonly #flush = (): void => this.#flushNow();
  #fault: string | null = null;
  #isOpen = false;
  #isFlushDue = false;
  #isWriting = false;
  #isEnded = false;

  constructor(socket: Socket, queue: UnixFrameQueue, owner: UnixStreamOwner) {
    this.#socket = socket;
    this.#queue = queue;
    this.#owner = owner;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => {
      this.#fault ??= error.message;
    });
    socket.once('close', () => {
      this.#isEnded = true;
      owner.ended(this.#fault);
    });
  }

  /** Ahead of what waits. */
  greet(payload: Uint8Array): void {
    this.#socket.write(encodeLengthFrame(payload));
  }

  /** The other end wants what waits in the queue, from now on. */
  open(): void {
    this.#isOpen = true;
    this.wake();
  }

  /** There is more in the queue. It goes at the end of the turn. */
  wake(): void {
    if (this.#isFlushDue || this.#isWriting || !this.#isOpen) return;
    this.#isFlushDue = true;
    process.nextTick(this.#flush);
  }

  /** Says it behind all that was written, and hears nothing any more. */
  endWith(payload: Uint8Array): void {
    this.#isEnded = true;
    this.#socket.end(encodeLengthFrame(payload));
    this.#socket.resume();
  }

  cut(): void {
    this.#isEnded = true;
    this.#socket.destroy();
  }

  #flushNow(): void {
    this.#isFlushDue = false;
    // A write on a connection that breaks may be said to be done.
    const isOver = this.#isEnded || this.#socket.destroyed;
    if (isOver || this.#isWriting || this.#queue.isEmpty) return;
    this.#isWriting = true;
    this.#socket.write(this.#queue.take(pieceBytesMax), (error) => {
      this.#isWriting = false;
      if (!(error instanceof Error)) this.#flushNow();
    });
  }

  #receive(chunk: Buffer): void {
    if (this.#isEnded) return;
    for (const step of this.#frames.feed(chunk)) {
      const fault =
        step.kind === 'payload'
          ? this.#owner.received(step.payload)
          : `sent a message of ${step.length} bytes, where 1 to ${peerMessageBytesMax} are in order`;
      if (fault !== null) {
        this.#fault = fault;
        this.cut();
      }
      if (this.#isEnded) return;
    }
  }
}
