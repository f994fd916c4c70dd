/** The webhooks as the server has them: told of every commit, asked by operators. The work is done on their own thread. */
import type { Clock } from '../../lib/clock.ts';
import { readVersion } from '../../lib/package-version.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { Log } from '../../lib/log.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { HookChanges } from '../../core/ports/delivery-store.ts';
import type { WebhookQuestion, WebhookReply } from '../../webhooks/worker/webhook-messages.ts';
import type { WebhookAnswers } from '../../core/ports/webhook-admin.ts';
import { webhookRoutes } from '../../gateways/admin/webhook-routes.ts';
import type { WebhookTables } from '../../storage/webhooks/lmdb-delivery-store.ts';
import { WebhookThread, type WebhookThreadDeps } from '../../webhooks/worker/webhook-thread.ts';
import type { StoreFault } from '../../storage/lmdb/store-fault.ts';

export interface WebhooksDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, 'webhookDelivery'>;
  /** A page of this file of the store cannot be read, each time, or LMDB has panicked. */
  readonly onFault: (file: string, reason: string, fault: StoreFault) => void;
  readonly events: Pick<EventLog, 'head' | 'follow'>;
  /** Of a store that this process has open. */
  readonly dataDirectory: string;
  /** Whether they may go to loopback, private and other special addresses. */
  readonly allowLocal: boolean;
  /** Keeps every change of their delivery store where another node finds it, before it counts; by default there is no other. */
  readonly replicateDeliveries?: (changes: readonly HookChanges[]) => Promise<void>;
  /** Their delivery store, before the thread has it; a simulation has it in memory. */
  readonly openTables?: () => WebhookTables;
  /** A test has a thread that it can make die. */
  readonly startWorker?: NonNullable<WebhookThreadDeps['startWorker']>;
}

/** The webhooks, to the server: this node's, or those of several nodes that deliver in turn. */
export interface WebhookService extends Pick<WebhookThread, 'ask'> {
  readonly routes: readonly AdminRoute[];
  start(): Promise<void> | void;
  registryChanged(): void;
  stop(): Promise<void>;
}

export class Webhooks implements WebhookService {
  readonly routes: readonly AdminRoute[];
  readonly #events: WebhooksDeps['events'];
  readonly #thread: WebhookThread;
  /** A head was posted in this turn of the loop; the next one waits for the end of it. */
  #isPosted = false;
  #unfollow = (): void => undefined;

  constructor({ dataDirectory: directory, allowLocal, events, replicateDeliveries, ...parts }: WebhooksDeps) {
    const userAgent = `Reveille/${readVersion()}`;
    this.#events = events;
    this.#thread = new WebhookThread({
      ...parts,
      replicateDeliveries,
      onHooks: () => this.#notifyHead(),
      task: () => ({
        directory,
        allowLocal,
        userAgent,
        head: events.head,
        isDeliveryStoreShared: replicateDeliveries !== undefined,
      }),
    });
    this.routes = webhookRoutes(this);
  }

  /**
   * Resolves when they are served; rejects when the thread cannot be started. Call it with the registry in, and before
   * anything happens that a webhook is to be told of.
   */
  async start(): Promise<void> {
    await this.#thread.start();
    // What was committed while it started, too.
    this.#notifyHead();
    this.#unfollow = this.#events.follow(() => this.#notifyHead());
  }

  ask<Kind extends keyof WebhookAnswers>(
    question: Extract<WebhookQuestion, { readonly kind: Kind }>,
  ): Promise<WebhookReply<Kind>> {
    return this.#thread.ask<Kind>(question);
  }

  /** After every change of a webhook, or of a product's applications. */
  registryChanged(): void {
    this.#thread.post({ kind: 'registry-changed', head: this.#events.head });
  }

  /**
   * Resolves when the thread is gone; attempts under way have some seconds. What was not delivered comes after the next start.
   */
  async stop(): Promise<void> {
    this.#unfollow();
    await this.#thread.stop();
  }

  /** At once, whatever is under way. */
  async abandon(): Promise<void> {
    this.#unfollow();
    await this.#thread.abandon();
  }

  /** At once, for the first commit of a turn of the loop; once more at its end, where there were more. Nobody without a hook. */
  #notifyHead(): void {
    if (this.#isPosted || !this.#thread.hasHooks) return;
    this.#isPosted = true;
    const { head } = this.#events;
    this.#thread.post({ kind: 'head', head });
    setImmediate(() => {
      this.#isPosted = false;
      if (this.#events.head > head) this.#notifyHead();
    });
  }
}
