/** A socket whose kernel is the test: bytes stay unsent until it takes them, and it may fail instead. */
import type { SleepSocket } from '../../src/edge/sleeping-connection.ts';

type Done = (error?: Error | null) => void;

export class FakeSleepSocket implements SleepSocket {
  readonly writes: string[] = [];
  destroyed = false;
  writable = true;
  readableEnded = false;
  writableLength = 0;
  /** True: the kernel has the bytes before `write` returns; the callback follows when the test lets it. */
  takesAtOnce = false;
  readonly #unsent: { length: number; done: Done }[] = [];

  write(bytes: Buffer | string, encodingOrDone: 'latin1' | Done, done?: Done): boolean {
    this.writes.push(typeof bytes === 'string' ? bytes : bytes.toString('hex'));
    const length = this.takesAtOnce ? 0 : bytes.length;
    this.writableLength += length;
    const callback = typeof encodingOrDone === 'function' ? encodingOrDone : done;
    this.#unsent.push({ length, done: callback ?? (() => undefined) });
    return true;
  }

  /** The oldest write's callback comes, with the error it is given. */
  land(error?: Error): void {
    const write = this.#unsent.shift();
    if (write === undefined) throw new Error('nothing was written');
    this.writableLength -= write.length;
    write.done(error);
  }

  /** Like Node: what was under way is called back without an error. */
  destroy(): void {
    this.destroyed = true;
    this.writable = false;
  }
}
