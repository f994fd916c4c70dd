/** Webhooks as the server sees them: notified of every commit, queried by operators. Delivery runs on its own thread. */
import { readVersion } from '../../lib/package-version.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import { webhookRoutes } from '../../gateways/admin/webhook-routes.ts';
import type { WebhookTables } from '../../storage/webhooks/lmdb-delivery-store.ts';
import { WebhookThread, type WebhookThreadDeps } from '../../webhooks/worker/webhook-thread.ts';

export interface WebhooksDeps extends Omit<WebhookThreadDeps, 'task' | 'onHooks'> {
  readonly events: Pick<EventLog, 'head' | 'follow'>;
  /** Data directory of the store, which this process has open. */
  readonly dataDirectory: string;
  /** True: webhooks may go to loopback, private and other special addresses. */
  readonly allowLocal: boolean;
  /** Opens the delivery store before the thread does. Default: on disk; a simulation has it in memory. */
  readonly openTables?: () => WebhookTables;
}

/** Webhooks of this node, or of a cluster with one delivering node. */
export interface WebhookService extends Pick<WebhookThread, 'ask'> {
  readonly routes: readonly AdminRoute[];
  start(): Promise<void> | void;
  registryChanged(): void;
  stop(): Promise<void>;
}

export class Webhooks extends WebhookThread implements WebhookService {
  readonly routes: readonly AdminRoute[];
  readonly #events: WebhooksDeps['events'];
  /** True: the head was posted in this turn; the next post waits until its end. */
  #isPosted = false;
  #unfollow = (): void => undefined;

  constructor({ dataDirectory: directory, allowLocal, events, replicateDeliveries, ...parts }: WebhooksDeps) {
    const userAgent = `Reveille/${readVersion()}`;
    super({
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
    this.#events = events;
    this.routes = webhookRoutes(this);
  }

  /**
   * Resolves when delivery runs; rejects when the thread cannot start. Call it after the registry was imported, and before the first
   * event of a webhook.
   */
  override async start(): Promise<void> {
    await super.start();
    // Events may have been committed during the start.
    this.#notifyHead();
    this.#unfollow = this.#events.follow(() => this.#notifyHead());
  }

  /** Call after every change of a webhook, or of a product's applications. */
  registryChanged(): void {
    this.post({ kind: 'registry-changed', head: this.#events.head });
  }

  /** Resolves when the thread has ended; pending attempts have some seconds. The rest is delivered after the next start. */
  override async stop(): Promise<void> {
    this.#unfollow();
    await super.stop();
  }

  override async abandon(): Promise<void> {
    this.#unfollow();
    await super.abandon();
  }

  /** Posts the head at the first commit of a turn, and once more at its end after further commits. Without a hook it posts nothing. */
  #notifyHead(): void {
    if (this.#isPosted || !this.hasHooks) return;
    this.#isPosted = true;
    const { head } = this.#events;
    this.post({ kind: 'head', head });
    setImmediate(() => {
      this.#isPosted = false;
      if (this.#events.head > head) this.#notifyHead();
    });
  }
}
