/** Webhooks as the server sees them: notified of every commit, queried by operators. Delivery runs on its own thread. */
import type { Clock } from '../../lib/clock.ts';
import { readVersion } from '../../lib/package-version.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { Log } from '../../lib/log.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { HookChanges } from '../../core/ports/delivery-store.ts';
import type { WebhookQuestion, WebhookReply } from '../../webhooks/worker/webhook-messages.ts';
import type { WebhookAnswers } from '../../webhooks/delivery/webhook-admin.ts';
import { webhookRoutes } from '../../gateways/admin/webhook-routes.ts';
import type { WebhookTables } from '../../storage/webhooks/lmdb-delivery-store.ts';
import { WebhookThread, type WebhookThreadDeps } from '../../webhooks/worker/webhook-thread.ts';
import type { StoreFault } from '../../storage/lmdb/store-fault.ts';

export interface WebhooksDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, 'webhookDelivery'>;
  /** A page of the file is unreadable at each attempt, or LMDB has panicked. */
  readonly onFault: (file: string, reason: string, fault: StoreFault) => void;
  readonly events: Pick<EventLog, 'head' | 'follow'>;
  /** Data directory of the store, which this process has open. */
  readonly dataDirectory: string;
  /** True: webhooks may go to loopback, private and other special addresses. */
  readonly allowLocal: boolean;
  /** Replicates each change of the delivery store to other nodes before it takes effect. Default: none. */
  readonly replicateDeliveries?: (changes: readonly HookChanges[]) => Promise<void>;
  /** Opens the delivery store before the thread does. Default: on disk; a simulation has it in memory. */
  readonly openTables?: () => WebhookTables;
  /** Default: a real thread. */
  readonly startWorker?: NonNullable<WebhookThreadDeps['startWorker']>;
}

/** Webhooks of this node, or of a cluster with one delivering node. */
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
  /** True: the head was posted in this turn; the next post waits until its end. */
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
   * Resolves when delivery runs; rejects when the thread cannot start. Call it after the registry was imported, and before the first
   * event of a webhook.
   */
  async start(): Promise<void> {
    await this.#thread.start();
    // Events may have been committed during the start.
    this.#notifyHead();
    this.#unfollow = this.#events.follow(() => this.#notifyHead());
  }

  ask<Kind extends keyof WebhookAnswers>(
    question: Extract<WebhookQuestion, { readonly kind: Kind }>,
  ): Promise<WebhookReply<Kind>> {
    return this.#thread.ask<Kind>(question);
  }

  /** Call after every change of a webhook, or of a product's applications. */
  registryChanged(): void {
    this.#thread.post({ kind: 'registry-changed', head: this.#events.head });
  }

  /** Resolves when the thread has ended; pending attempts have some seconds. The rest is delivered after the next start. */
  async stop(): Promise<void> {
    this.#unfollow();
    await this.#thread.stop();
  }

  /** Ends the thread at once. */
  async abandon(): Promise<void> {
    this.#unfollow();
    await this.#thread.abandon();
  }

  /** Posts the head at the first commit of a turn, and once more at its end after further commits. Without a hook it posts nothing. */
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
