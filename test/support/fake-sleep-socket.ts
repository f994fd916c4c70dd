/** A socket whose kernel is the test: bytes stay unsent until the test accepts them; writes can fail. */
import type { SleepSocket } from '../../src/edge/sleeping-connection.ts';

type Done = (error?: Error | null) => void;

export class FakeSleepSocket implements SleepSocket {
  readonly writes: string[] = [];
  destroyed = false;
  writable = true;
  readableEnded = false;
  writableLength = 0;
  /** True: the kernel accepts bytes before `write` returns; the callback waits for the test. */
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

  /** Calls the callback of the oldest write, with `error` if given. */
  land(error?: Error): void {
    const write = this.#unsent.shift();
    if (write === undefined) throw new Error('nothing was written');
    this.writableLength -= write.length;
    write.done(error);
  }

  /** As in Node, pending writes are called back without an error. */
  destroy(): void {
    this.destroyed = true;
    this.writable = false;
  }
}
