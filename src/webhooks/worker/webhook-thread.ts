/**
 * The main thread's end of the thread of the webhooks: starts it, starts it again when it dies, hands on what it says,
 * and asks it. A thread that died has lost nothing: what it had under way stands in its store, or comes again.
 */
import type { Worker } from 'node:worker_threads';
import { messageOf, fail } from '../../lib/result.ts';
import type { Clock } from '../../lib/clock.ts';
import { startModuleWorker } from '../../lib/module-worker.ts';
import { OpenAsks } from '../../lib/link/open-asks.ts';
import { Restarts } from '../../lib/restarts.ts';
import type { Log } from '../../lib/log.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { HookChanges } from '../../core/ports/delivery-store.ts';
import type {
  FromWebhooks,
  ToWebhooks,
  WebhookQuestion,
  WebhookReply,
  WebhookTask,
} from './webhook-messages.ts';
import type { WebhookAnswers } from '../../core/ports/webhook-admin.ts';
import type { StoreFault } from '../../storage/lmdb/store-fault.ts';

export interface WebhookThreadDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, 'webhookDelivery'>;
  /** As it is at each start. */
  readonly task: () => WebhookTask;
  /** Keeps the delivery store where other nodes find it, if the task says so. */
  readonly replicateDeliveries?: ((changes: readonly HookChanges[]) => Promise<void>) | undefined;
  /** A page of this file of the store cannot be read, each time, or LMDB has panicked. */
  readonly onFault: (file: string, reason: string, fault: StoreFault) => void;
  /** There is a hook, where none was: from here on it is to be told how far the log is. */
  readonly onHooks: () => void;
  /** A test has one that it can make die. */
  readonly startWorker?: (task: WebhookTask) => Worker;
}

/** Before a thread that died is started again: doubled each time up to the last, until one has lived for that long. */
const restartMsMin = 1000;
const restartMsMax = 60_000;
/** The thread ends its attempts within 5 s; then it commits. After this it is ended where it stands. */
const stopMsMax = 10_000;
/** Questions under way; beyond it another is refused. */
const questionsMax = 64;

const notRunning = fail({
  kind: 'unavailable',
  message: 'the thread of the webhooks is not running now',
} as const);

export class WebhookThread {
  readonly #deps: WebhookThreadDeps;
  readonly #questions: OpenAsks<{ readonly question: WebhookReply }, 'unavailable'>;
  #worker: Worker | null = null;
  #hasHooks = false;
  #isStopping = false;
  readonly #restarts: Restarts;

  constructor(deps: WebhookThreadDeps) {
    this.#deps = deps;
    this.#questions = new OpenAsks(deps.clock, {
      max: questionsMax,
      unsent: 'unavailable',
      expired: () => 'unavailable',
    });
    this.#restarts = new Restarts(deps.clock, { immediate: 0, msMin: restartMsMin, msMax: restartMsMax });
  }

  /** Resolves when it serves; rejects when it cannot be started. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#begin(resolve, reject);
    });
  }

  /** False: nobody wants events. */
  get hasHooks(): boolean {
    return this.#hasHooks;
  }

  /** False: it is not running, and is told how things are when it starts. */
  post(message: ToWebhooks): boolean {
    this.#worker?.postMessage(message);
    return this.#worker !== null;
  }

  async ask<Kind extends keyof WebhookAnswers>(
    question: Extract<WebhookQuestion, { readonly kind: Kind }>,
  ): Promise<WebhookReply<Kind>> {
    if (this.#questions.size >= questionsMax)
      return fail({ kind: 'busy', message: `${questionsMax} questions are under way` });
    const asked = await this.#questions.ask('question', Infinity, (id) =>
      this.post({ kind: 'question', id, question }),
    );
    return asked.ok ? (asked.value as WebhookReply<Kind>) : notRunning;
  }

  /** Resolves when the thread is gone and its store is closed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#restarts.stop();
    const worker = this.#worker;
    if (worker === null) return;
    await new Promise<void>((resolve) => {
      worker.once('exit', () => resolve());
      const giveUp = this.#deps.clock.after(stopMsMax, () => void worker.terminate());
      worker.once('exit', giveUp);
      this.post({ kind: 'stop' });
    });
  }

  /** Ends it where it stands: another node may deliver by now. What is under way may come a second time. */
  async abandon(): Promise<void> {
    this.#isStopping = true;
    this.#restarts.stop();
    await this.#worker?.terminate();
  }

  /** `onFailure`: it ended before it was ready. */
  #begin(onReady: () => void, onFailure: (failure: Error, startedMs: number) => void): void {
    const { clock, task, startWorker = startWebhookWorker } = this.#deps;
    const startedMs = clock.monotonicMs();
    const worker = startWorker(task());
    let failure = new Error('the thread of the webhooks ended');
    let onEnd = onFailure;
    this.#worker = worker;
    this.#hasHooks = false;
    worker.on('message', (message: FromWebhooks) => {
      if (message.kind !== 'ready') return this.#received(message);
      onEnd = (error, at) => this.#restart(error, at);
      onReady();
    });
    worker.on('error', (error: Error) => {
      failure = error;
    });
    worker.on('exit', () => {
      this.#worker = null;
      this.#questions.failAll();
      if (!this.#isStopping) onEnd(failure, startedMs);
    });
  }

  #restart(failure: Error, startedMs: number): void {
    const isSound = this.#deps.clock.monotonicMs() - startedMs >= restartMsMax;
    const waitMs = this.#restarts.died(isSound);
    const again = (error: Error, at: number): void => this.#restart(error, at);
    this.#logDeath(failure, waitMs);
    this.#restarts.startAfter(
      waitMs,
      () => this.#begin(() => this.#deps.log.info({}, 'webhook thread: restarted'), again),
      (error, nextMs) => this.#logDeath(error, nextMs),
    );
  }

  #logDeath(error: unknown, waitMs: number): void {
    this.#deps.log.error({ err: error, restart_ms: waitMs }, 'webhook thread: died; restarting');
  }

  #received(message: Exclude<FromWebhooks, { readonly kind: 'ready' }>): void {
    const { log, telemetry } = this.#deps;
    switch (message.kind) {
      case 'hooks':
        this.#hasHooks = message.areThere;
        if (this.#hasHooks) this.#deps.onHooks();
        return;
      case 'reply':
        return void this.#questions.answered(message.id, 'question', message.reply);
      case 'fault':
        return this.#deps.onFault(message.file, message.reason, message.fault);
      case 'counts':
        for (const [result, count] of message.counts) telemetry.webhookDelivery(result, count);
        return;
      case 'delivery store':
        return void this.#keep(message.id, message.changes);
      case 'log':
        return log[message.level](message.fields, message.message);
    }
  }

  async #keep(id: number, changes: readonly HookChanges[]): Promise<void> {
    let fault: string | null = null;
    try {
      await this.#deps.replicateDeliveries?.(changes);
    } catch (error) {
      fault = messageOf(error);
    }
    this.post({ kind: 'kept', id, fault });
  }
}

/** V8's young generation in the thread: by itself it grows to 48 MiB in a storm of events, of which hardly one lives on. */
const youngMebibytesMax = 6;

function startWebhookWorker(task: WebhookTask): Worker {
  return startModuleWorker('webhook-worker', import.meta.url, task, {
    maxYoungGenerationSizeMb: youngMebibytesMax,
  });
}
