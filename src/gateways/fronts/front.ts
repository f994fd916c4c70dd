/** The core's end of one front: its thread, and the front's unanswered calls. */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { writeLine } from '../../lib/link/link-log.ts';
import { monotonicOriginMs } from '../../lib/system-clock.ts';
import type { FrontThread } from './front-thread.ts';
import type { FrontFigures, FrontLoss } from '../../telemetry/front-gauges.ts';
import type { AccessKeyId } from '../../model/ids.ts';
import { frontAskMsMax } from '../../model/http-limits.ts';
import type { Credential } from '../../model/registry.ts';
import type { Dispatcher } from '../api/dispatcher.ts';
import type { Reply, Route } from '../api/route.ts';
import { FrontCall, refusedRequest } from './front-call.ts';
import type { FrontTurns } from './front-turns.ts';
import {
  frontCounters,
  frontSockets,
  type CallRow,
  type FromFront,
  type FrontOrder,
  type OrderRow,
  type RefusedRow,
  type ReplyRow,
  type ToFront,
} from './front-messages.ts';

export interface FrontContext extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly routes: readonly Route[];
  readonly turns: FrontTurns;
}

/** Stalled intervals after which a front is shown as stuck. */
const stillTicksShown = 3;

export class Front {
  readonly name: string;
  /** Resolves to the reason when the thread has ended. */
  readonly ended: Promise<string>;
  readonly #context: FrontContext;
  readonly #thread: FrontThread;
  readonly #counters: Int32Array;
  readonly #asked = new Map<number, (error: string | null) => void>();
  /** Calls that were not answered in the turn of their arrival. */
  readonly #open = new Map<number, FrontCall>();
  readonly #batches: (readonly OrderRow[])[] = [];
  readonly #originMs = monotonicOriginMs();
  /** Null: the front queues its requests. */
  #dispatcher: Dispatcher | null = null;
  /** Index of the next row in the first batch. */
  #nextRow = 0;
  #replies: ReplyRow[] = [];
  /** Buffers of the replies' data. */
  #moved: ArrayBuffer[] = [];
  #taken = 0;
  #isFlushDue = false;
  #asks = 0;
  #reason = '';
  #loss: FrontLoss = 'ended';
  #state: 'starting' | 'up' | 'ended' = 'starting';
  #listening: Promise<void> | null = null;
  #ending: Promise<boolean> | null = null;
  #progress = -1;
  #stillTicks = 0;

  /** `counters`: the memory that its thread was started with. */
  constructor(name: string, context: FrontContext, thread: FrontThread, counters: SharedArrayBuffer) {
    this.name = name;
    this.#context = context;
    this.#thread = thread;
    this.#counters = new Int32Array(counters);
    this.ended = thread.ended.then((reason) => {
      this.#cut();
      return this.#reason || reason || 'its thread has ended';
    });
    thread.onMessage((message) => this.#receive(message));
  }

  count(name: keyof typeof frontCounters): number {
    return this.#counters[frontCounters[name]] ?? 0;
  }

  set connectionsMax(max: number) {
    this.#counters[frontCounters.connectionsMax] = max;
  }

  get loss(): FrontLoss {
    return this.#loss;
  }

  get figures(): Omit<FrontFigures, 'restarts' | 'sinceMs'> {
    return {
      name: this.name,
      state: this.#state === 'up' && this.#stillTicks >= stillTicksShown ? 'stuck' : this.#state,
      connections: this.count('connections'),
      waitingCalls: this.count('waitingCalls'),
      openCalls: this.#open.size,
      utilization: this.#thread.utilization,
    };
  }

  get isLoading(): boolean {
    return this.count('sockets') === frontSockets.unopened;
  }

  /** False: it has no credentials yet. */
  get isServing(): boolean {
    return this.#dispatcher !== null;
  }

  /** Call at even intervals. Returns the number of consecutive intervals in which the event loop has not turned. */
  countStalls(): number {
    const progress = Atomics.load(this.#counters, frontCounters.progress);
    this.#stillTicks = progress === this.#progress ? this.#stillTicks + 1 : 0;
    this.#progress = progress;
    return this.#stillTicks;
  }

  serve(dispatcher: Dispatcher, credentials: readonly Credential[], isDraining: boolean): void {
    this.#dispatcher = dispatcher;
    this.#send({ kind: 'serve', credentials, isDraining });
  }

  /** Resolves when the front has confirmed the credentials; rejects if it does not in time. */
  updateCredentials(
    isWhole: boolean,
    set: readonly Credential[],
    removed: readonly AccessKeyId[],
  ): Promise<void> {
    return this.#ask((ask) => ({ kind: 'credentials', ask, isWhole, set, removed }), frontAskMsMax);
  }

  /** Resolves when it listens. Rejects if the address is unavailable or the front has ended. */
  listen(): Promise<void> {
    return (this.#listening ??= this.ask('listen').then(() => {
      if (this.#state === 'starting') this.#state = 'up';
    }));
  }

  /** Rejects with the front's reason, or when it has ended. */
  ask(kind: FrontOrder['kind']): Promise<void> {
    return this.#ask((ask) => ({ kind, ask }), null);
  }

  /** Ends its thread and closes all its connections; only the first reason counts. False: it is stuck and cannot be ended. */
  end(reason: string, loss: FrontLoss = 'ended'): Promise<boolean> {
    return (this.#ending ??= this.#end(reason, loss));
  }

  async #end(reason: string, loss: FrontLoss): Promise<boolean> {
    this.#reason = reason;
    this.#loss = loss;
    // A loading front obeys once it has loaded; until then it lacks the code that ends a stuck one.
    const msMax = this.isLoading ? null : frontAskMsMax;
    try {
      await this.#ask((ask) => ({ kind: 'close', ask }), msMax);
      await this.ended;
      return true;
    } catch {
      return this.#state === 'ended' || this.#thread.endStuck();
    }
  }

  async #ask(messageOf: (ask: number) => ToFront, msMax: number | null): Promise<void> {
    this.#asks += 1;
    const ask = this.#asks;
    const answered = new Promise<string | null>((resolve) => this.#asked.set(ask, resolve));
    this.#send(messageOf(ask));
    const late = `it did not answer within ${msMax} ms`;
    const cancel =
      msMax === null ? null : this.#context.clock.after(msMax, () => this.#asked.get(ask)?.(late));
    const error = await Promise.race([answered, this.ended]);
    cancel?.();
    this.#asked.delete(ask);
    if (error !== null) throw new Error(error);
  }

  #send(message: ToFront, moved: readonly ArrayBuffer[] = []): void {
    this.#thread.post(message, moved);
  }

  #receive(message: FromFront): void {
    if (message.kind === 'orders') this.#enqueue(message.rows);
    else if (message.kind === 'done') this.#asked.get(message.ask)?.(message.error);
    else if (message.kind === 'log')
      writeLine(this.#context.log, message, (said) => ({ front: this.name, said }));
  }

  #enqueue(rows: readonly OrderRow[]): void {
    if (this.#batches.push(rows) === 1) this.#context.turns.join(this.#carryOutNext);
  }

  /** False: it was the last order. */
  readonly #carryOutNext = (): boolean => {
    const [rows = []] = this.#batches;
    const row = rows[this.#nextRow];
    this.#nextRow += 1;
    if (row !== undefined) this.#carryOut(row);
    if (this.#nextRow < rows.length) return true;
    this.#batches.shift();
    this.#nextRow = 0;
    this.#taken += 1;
    this.#flushSoon();
    return this.#batches.length > 0;
  };

  #carryOut(row: OrderRow): void {
    if (row[0] === 0) this.#begin(row);
    else if (row[0] === 1) this.#hangUp(row[1]);
    else this.#account(row);
  }

  #begin(row: CallRow): void {
    const [, id, index, accessKeyId] = row;
    const route = this.#context.routes[index];
    if (route === undefined || this.#dispatcher === null) return;
    const credential = this.#dispatcher.credentialOf(route, accessKeyId);
    if (!credential.ok) return this.#reply(id, credential.error);
    const call = new FrontCall(row, credential.value, this.#originMs);
    const reply = this.#dispatcher.dispatch(route, row[10], call);
    if (!(reply instanceof Promise)) return this.#reply(id, reply);
    this.#open.set(id, call);
    void reply.then((late) => {
      if (this.#open.delete(id)) this.#reply(id, late);
    });
  }

  #hangUp(id: number): void {
    this.#open.get(id)?.hangUp();
    this.#open.delete(id);
  }

  #account(row: RefusedRow): void {
    const [, index, status, reply, , , , , , authFailure, times] = row;
    const route = this.#context.routes[index] ?? null;
    const refused = { route, status, reply, authFailure: authFailure ?? undefined, times };
    this.#dispatcher?.refused(refused, refusedRequest(row, this.#originMs));
  }

  #reply(id: number, reply: Reply): void {
    this.#replies.push([id, reply]);
    if (reply.data instanceof Uint8Array) this.#moved.push(reply.data.buffer as ArrayBuffer);
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#isFlushDue = false;
    this.#send({ kind: 'replies', taken: this.#taken, rows: this.#replies }, this.#moved);
    this.#replies = [];
    this.#moved = [];
    this.#taken = 0;
  };

  /** Handles the end of the thread: the connections of its callers are broken. */
  #cut(): void {
    this.#state = 'ended';
    this.#batches.length = 0;
    for (const id of this.#open.keys()) this.#hangUp(id);
  }
}
