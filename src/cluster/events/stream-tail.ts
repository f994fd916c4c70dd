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
}

export abstract class StreamTail<Deps extends TailDeps> {
  protected readonly deps: Deps;
  /** Maximum number of messages in one call of `write`. */
  protected abstract readonly batchMax: number;
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

  constructor(deps: Deps) {
    this.deps = deps;
    this.#toldMs = deps.clock.monotonicMs();
  }

  /** The newest sequence that is written here. */
  abstract get position(): number;

  /** Messages of the stream that are not written here, as far as is known; while NATS is unavailable there may be more. */
  get lag(): number {
    return this.#pending + this.#waiting.length;
  }

  /** The stream is followed, and everything in it is here. */
  get isCaughtUp(): boolean {
    return this.#open !== null && this.lag === 0 && this.#writing === null;
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

  /** Writes messages in order, without those at or before the position. Rejects when they are to be passed again. */
  protected abstract write(messages: readonly TailMessage[]): Promise<void>;

  /** The stream's newest sequence `last` is before the position: the stream was recreated. It is opened again afterwards. */
  protected abstract recreated(last: number): Promise<void>;

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
    const open = await this.deps.source.open(this.position, tailMessagesMax);
    if (open.last < this.position) {
      open.close();
      await this.recreated(open.last);
      return;
    }
    this.#pending = open.pending;
    this.#newest = this.position;
    this.#open = open;
    if (this.#stop.signal.aborted) open.close();
    this.#doubt();
    this.#notifyHealth(null);
    this.#notifyProgress();
    for await (const message of open.messages) {
      this.#take(message);
      if (this.#writing !== null && this.#waiting.length >= this.batchMax) await this.#writing;
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
    await nextTurn();
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#waiting.splice(0, this.batchMax);
        const fresh = batch.filter(({ sequence }) => sequence > this.position);
        if (fresh.length > 0) await this.write(fresh);
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
    this.#cancelDoubt = this.deps.clock.after(tailQuietMs, () => void this.#recount(known));
  }

  async #recount(known: number): Promise<void> {
    const isQuiet = this.#newest === known;
    const newest = isQuiet ? await this.deps.source.newest().catch(() => Infinity) : Infinity;
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
    const { clock, log, source } = this.deps;
    const nowMs = clock.monotonicMs();
    const { lag: behind } = this;
    if (behind <= tailMessagesMax) this.#toldMs = nowMs;
    if (nowMs - this.#toldMs < tailProgressMs) return;
    this.#toldMs = nowMs;
    log.info({ stream: source.stream, position: this.position, behind }, 'a mirror of NATS is catching up');
  }

  /** Once for each outage, not for each attempt. */
  #notifyHealth(failure: unknown): void {
    const isHealthy = failure === null;
    if (isHealthy === this.#isHealthy || this.#stop.signal.aborted) return;
    this.#isHealthy = isHealthy;
    const { log, source } = this.deps;
    if (isHealthy) log.info({ stream: source.stream }, 'a stream of NATS is followed again');
    else log.warn({ err: failure, stream: source.stream }, 'a stream of NATS cannot be followed; will retry');
  }

  #pause(): Promise<void> {
    return pause(this.deps.clock, tailRetryMs, this.#stop.signal).catch(() => undefined);
  }
}
