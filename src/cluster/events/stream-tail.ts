/**
 * A stream, followed from a position that is kept here: in order, each message once, in batches as large as what came
 * while the last one was written. Whatever ends it (an outage, a consumer that is gone, a store that refuses), it goes on
 * from what was written. Source: cluster.md, Registry and Events.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { nextTurn, pause, type Cancel } from '../../lib/clock.ts';
import { tailMessagesMax, tailProgressMs, tailQuietMs, tailRetryMs } from './log-limits.ts';

export interface TailMessage {
  /** Of the stream. */
  readonly sequence: number;
  readonly subject: string;
  readonly data: Uint8Array;
  /**
   * How many there were behind it when it was sent, and perhaps more: what was replaced before it was delivered may be
   * counted for good.
   */
  readonly pending: number;
}

export interface OpenTail {
  /** Ends when it cannot go on; may throw. */
  readonly messages: AsyncIterable<TailMessage>;
  /** The stream's newest sequence when it was opened, and how many messages were to come. */
  readonly last: number;
  readonly pending: number;
  close(): void;
}

export interface TailSource {
  readonly stream: string;
  /** Behind `after`; rejects while it cannot be reached. */
  open(after: number, waitingMax: number): Promise<OpenTail>;
  /** The sequence of its newest message; 0: it has none. */
  newest(): Promise<number>;
  /** Drops what is in the stream, and has it go on behind `sequence`. */
  resumeAfter(sequence: number): Promise<void>;
}

export interface TailDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly source: TailSource;
  /** The newest sequence that is written here. */
  readonly position: () => number;
  /** In order, without those at or before the position. Rejects when they are to be given again. */
  readonly write: (messages: readonly TailMessage[]) => Promise<void>;
  readonly batchMax: number;
  /** The stream's newest sequence `last` is before the position: it was made anew. It is opened again after this. */
  readonly madeAnew: (last: number) => Promise<void>;
}

export class StreamTail {
  readonly #deps: TailDeps;
  /** Messages of the stream behind the newest that came, and the sequence of that. */
  #pending = 0;
  #newest = 0;
  #open: OpenTail | null = null;
  #waiting: TailMessage[] = [];
  #writing: Promise<void> | null = null;
  #failure: unknown = null;
  #isHealthy = true;
  readonly #stop = new AbortController();
  /** Null: nothing is asked after. */
  #cancelDoubt: Cancel | null = null;
  #run: Promise<void> = Promise.resolve();
  #toldMs: number;
  #followers = new Set<() => void>();

  constructor(deps: TailDeps) {
    this.#deps = deps;
    this.#toldMs = deps.clock.monotonicMs();
  }

  /** Messages of the stream that are not written here, as far as is known: while it is away there may be more. */
  get behind(): number {
    return this.#pending + this.#waiting.length;
  }

  /** The stream is followed, and everything in it is here. */
  get isCaughtUp(): boolean {
    return this.#open !== null && this.behind === 0 && this.#writing === null;
  }

  start(): void {
    this.#run = this.#follow();
  }

  /** Resolves when nothing of it runs any more. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelDoubt?.();
    this.#open?.close();
    await this.#run;
  }

  /** Called when it is followed again, and after every batch. */
  onProgress(told: () => void): Cancel {
    this.#followers.add(told);
    return () => void this.#followers.delete(told);
  }

  async #follow(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#read();
      } catch (error) {
        this.#notifyHealth(error);
      }
      this.#open = null;
      if (!this.#stop.signal.aborted) await this.#pause();
    }
  }

  async #read(): Promise<void> {
    const { source, position, madeAnew, batchMax } = this.#deps;
    const open = await source.open(position(), tailMessagesMax);
    if (open.last < position()) {
      open.close();
      await madeAnew(open.last);
      return;
    }
    this.#pending = open.pending;
    this.#newest = position();
    this.#open = open;
    if (this.#stop.signal.aborted) open.close();
    this.#doubt();
    this.#notifyHealth(null);
    this.#notifyProgress();
    for await (const message of open.messages) {
      this.#take(message);
      if (this.#writing !== null && this.#waiting.length >= batchMax) await this.#writing;
    }
    await this.#writing;
    if (this.#failure !== null) throw this.#failureOnce();
  }

  #take(message: TailMessage): void {
    this.#pending = message.pending;
    this.#newest = message.sequence;
    this.#waiting.push(message);
    this.#doubt();
    this.#writing ??= this.#write();
  }

  /** What came in the same turn of the loop goes together, and then what came meanwhile. */
  async #write(): Promise<void> {
    const { batchMax, write, position } = this.#deps;
    await nextTurn();
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#waiting.splice(0, batchMax).filter(({ sequence }) => sequence > position());
        if (batch.length > 0) await write(batch);
        if (this.#waiting.length > 0) this.#notifyProgress();
      }
    } catch (error) {
      this.#failure = error;
      this.#waiting = [];
      this.#open?.close();
    }
    this.#writing = null;
    this.#notifyProgress();
  }

  /** What is said to come and does not is asked after: one look at a time, however many messages come. */
  #doubt(): void {
    if (this.#pending === 0 || this.#stop.signal.aborted || this.#cancelDoubt !== null) return;
    const known = this.#newest;
    this.#cancelDoubt = this.#deps.clock.after(tailQuietMs, () => void this.#recount(known));
  }

  async #recount(known: number): Promise<void> {
    const isQuiet = this.#newest === known;
    const newest = isQuiet ? await this.#deps.source.newest().catch(() => Infinity) : Infinity;
    this.#cancelDoubt = null;
    if (newest > known || this.#newest !== known) return this.#doubt();
    this.#pending = 0;
    this.#notifyProgress();
  }

  #failureOnce(): unknown {
    const failure = this.#failure;
    this.#failure = null;
    return failure;
  }

  #notifyProgress(): void {
    for (const told of Array.from(this.#followers)) told();
    const { clock, log, source, position } = this.#deps;
    const nowMs = clock.monotonicMs();
    const { behind } = this;
    if (behind <= tailMessagesMax) this.#toldMs = nowMs;
    if (nowMs - this.#toldMs < tailProgressMs) return;
    this.#toldMs = nowMs;
    log.info({ stream: source.stream, position: position(), behind }, 'a mirror of NATS is catching up');
  }

  /** Once for each outage, not for each attempt. */
  #notifyHealth(failure: unknown): void {
    const isHealthy = failure === null;
    if (isHealthy === this.#isHealthy || this.#stop.signal.aborted) return;
    this.#isHealthy = isHealthy;
    const { log, source } = this.#deps;
    if (isHealthy) log.info({ stream: source.stream }, 'a stream of NATS is followed again');
    else log.warn({ err: failure, stream: source.stream }, 'a stream of NATS cannot be followed; will retry');
  }

  #pause(): Promise<void> {
    return pause(this.#deps.clock, tailRetryMs, this.#stop.signal).catch(() => undefined);
  }
}
