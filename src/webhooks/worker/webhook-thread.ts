/**
 * The main thread's side of the webhook thread: starts it, restarts it when it dies, forwards its messages, and asks
 * questions. A death loses no event: pending deliveries are in the store, or are read from the log again.
 */
import type { Worker } from 'node:worker_threads';
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { messageOf, fail } from '../../lib/result.ts';
import { startModuleWorker } from '../../lib/module-worker.ts';
import { OpenAsks } from '../../lib/link/open-asks.ts';
import { Restarts } from '../../lib/restarts.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { HookChanges } from '../../core/ports/delivery-store.ts';
import type {
  FromWebhooks,
  ToWebhooks,
  WebhookQuestion,
  WebhookReply,
  WebhookTask,
} from './webhook-messages.ts';
import type { WebhookAnswers } from '../delivery/webhook-admin.ts';
import type { StoreFault } from '../../storage/lmdb/store-fault.ts';

export interface WebhookThreadDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly telemetry: Pick<Telemetry, 'webhookDelivery'>;
  readonly task: () => WebhookTask;
  /** Replicates the delivery store to other nodes, if the task says so. */
  readonly replicateDeliveries?: ((changes: readonly HookChanges[]) => Promise<void>) | undefined;
  /** A page of this store file is unreadable, or LMDB has panicked. */
  readonly onFault: (file: string, reason: string, fault: StoreFault) => void;
  /** The first hook was added: send heads from here on. */
  readonly onHooks: () => void;
  readonly startWorker?: (task: WebhookTask) => Worker;
}

/** Restart backoff: doubles up to the maximum; a thread that lived for the maximum resets it. */
const restartMsMin = 1000;
const restartMsMax = 60_000;
/** The thread ends its attempts within 5 s, then commits. After this time it is terminated. */
const stopMsMax = 10_000;
const questionsMax = 64;

const notRunning = fail({
  kind: 'unavailable',
  message: 'the webhook thread is not running; it is being restarted',
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

  /** Resolves when the thread is ready; rejects when it cannot be started. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#begin(resolve, reject);
    });
  }

  get hasHooks(): boolean {
    return this.#hasHooks;
  }

  /** False: the thread is not running; its next start gets the current state. */
  post(message: ToWebhooks): boolean {
    this.#worker?.postMessage(message);
    return this.#worker !== null;
  }

  async ask<Kind extends keyof WebhookAnswers>(
    question: Extract<WebhookQuestion, { readonly kind: Kind }>,
  ): Promise<WebhookReply<Kind>> {
    if (this.#questions.size >= questionsMax)
      return fail({ kind: 'busy', message: `${questionsMax} requests are pending; try again later` });
    const asked = await this.#questions.ask('question', Infinity, (id) =>
      this.post({ kind: 'question', id, question }),
    );
    return asked.ok ? (asked.value as WebhookReply<Kind>) : notRunning;
  }

  /** Resolves when the thread has ended and its store is closed. */
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

  /** Terminates the thread at once, because another node may deliver by now. Pending events may be delivered twice. */
  async abandon(): Promise<void> {
    this.#isStopping = true;
    this.#restarts.stop();
    await this.#worker?.terminate();
  }

  /** `onFailure`: the thread ended before it was ready. */
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

/** Limits V8's young generation, which otherwise grows to 48 MiB in a storm of short-lived events. */
const youngMebibytesMax = 6;

function startWebhookWorker(task: WebhookTask): Worker {
  return startModuleWorker('webhook-worker', import.meta.url, task, {
    maxYoungGenerationSizeMb: youngMebibytesMax,
  });
}
