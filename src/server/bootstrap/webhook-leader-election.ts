/**
 * Webhooks of a cluster: only the node that holds the lease delivers them. It loads the delivery store of the previous holder before it
 * sends anything, and stops sending at once when it loses the lease. The other nodes name the holder to operators.
 * Source: events.md, Webhooks; cluster.md, Events.
 */
import type { WebhookLease } from '../../cluster/membership/webhook-lease.ts';
import type { NatsDeliveryStore } from '../../cluster/records/nats-delivery-store.ts';
import { type Cancel, type Clock, completesWithin } from '../../lib/clock.ts';
import { fail } from '../../lib/result.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { Log } from '../../lib/log.ts';
import type { WebhookQuestion, WebhookReply } from '../../webhooks/worker/webhook-messages.ts';
import type { WebhookAnswers } from '../../webhooks/delivery/webhook-admin.ts';
import { webhookRoutes } from '../../gateways/admin/webhook-routes.ts';
import { seedDeliveryStore, WebhookTables } from '../../storage/webhooks/lmdb-delivery-store.ts';
import { Webhooks, type WebhookService, type WebhooksDeps } from './webhook-service.ts';

export type WebhookLeadership = Pick<WebhookLease, 'isHeld' | 'holder' | 'start' | 'release'>;

export type WebhookLeaderElectionDeps = Omit<WebhooksDeps, 'replicateDeliveries'> & {
  readonly clock: Clock;
  readonly log: Log;
  readonly events: Pick<EventLog, 'head' | 'follow'>;
  readonly deliveries: Pick<NatsDeliveryStore, 'load' | 'keep'>;
  /** True: the holder cannot be known now. */
  readonly isCutOff: () => boolean;
  /** Creates the lease. Callbacks: gained and lost. */
  readonly turns: (callbacks: { onGained: () => void; onLost: () => void }) => WebhookLeadership;
};

/** Maximum wait until the local log reaches the previous holder's cursor, milliseconds. */
const logMsMax = 10_000;
/** Retry interval of a failed start while the lease is held, milliseconds. */
const retryMs = 3000;

export class WebhookLeaderElection implements WebhookService {
  readonly routes: readonly AdminRoute[];
  readonly #deps: WebhookLeaderElectionDeps;
  readonly #turns: WebhookLeadership;
  #webhooks: Webhooks | null = null;
  /** Serializes gains and losses of the lease. */
  #changing: Promise<void> = Promise.resolve();
  #cancelRetry: Cancel = () => undefined;

  constructor(deps: WebhookLeaderElectionDeps) {
    this.#deps = deps;
    this.#turns = deps.turns({
      onGained: () => this.#change(() => this.#begin()),
      onLost: () => this.#change(() => this.#end()),
    });
    this.routes = webhookRoutes(this);
  }

  /** Call once the live members are known. */
  start(): void {
    this.#turns.start();
  }

  registryChanged(): void {
    this.#webhooks?.registryChanged();
  }

  /** Resolves when this node has stopped delivering and released the lease. */
  async stop(): Promise<void> {
    this.#change(async () => {
      this.#cancelRetry();
      await this.#webhooks?.stop();
      this.#webhooks = null;
    });
    await this.#changing;
    await this.#turns.release();
  }

  async ask<Kind extends keyof WebhookAnswers>(
    question: Extract<WebhookQuestion, { readonly kind: Kind }>,
  ): Promise<WebhookReply<Kind>> {
    if (this.#webhooks !== null) return this.#webhooks.ask<Kind>(question);
    return fail({ kind: 'unavailable', message: this.#whereToAsk() });
  }

  #whereToAsk(): string {
    const { holder, isHeld } = this.#turns;
    if (isHeld) return 'this node is about to deliver the webhooks; ask again in a moment';
    if (this.#deps.isCutOff())
      return 'NATS does not answer, so the node that delivers the webhooks is unknown: reveille doctor checks NATS';
    if (holder === null) return 'no node is known to deliver the webhooks now; ask again in a moment';
    return `the webhooks are delivered by the node ${holder.slice(0, holder.lastIndexOf('/'))}: ask there`;
  }

  #change(act: () => Promise<void>): void {
    this.#changing = this.#changing.then(act).catch((error: unknown) => {
      this.#deps.log.error({ err: error }, 'webhooks: cannot start or stop on this node; retrying');
      this.#cancelRetry = this.#deps.clock.after(retryMs, () => this.#change(() => this.#begin()));
    });
  }

  async #begin(): Promise<void> {
    if (!this.#turns.isHeld || this.#webhooks !== null) return;
    const { deliveries, log, dataDirectory } = this.#deps;
    const { openTables = () => new WebhookTables(dataDirectory) } = this.#deps;
    const cursor = await seedDeliveryStore(openTables(), (take) => deliveries.load(take));
    await this.#reached(cursor);
    if (!this.#turns.isHeld) return;
    const webhooks = new Webhooks({
      ...this.#deps,
      replicateDeliveries: (changes) => deliveries.keep(changes),
    });
    await webhooks.start();
    this.#webhooks = webhooks;
    // The registry may have changed during the start.
    webhooks.registryChanged();
    log.info({ cursor }, 'webhooks: this node delivers them now');
  }

  async #end(): Promise<void> {
    this.#cancelRetry();
    const webhooks = this.#webhooks;
    this.#webhooks = null;
    await webhooks?.abandon();
  }

  /** Resolves when the local log has reached `cursor`, or after the maximum wait. */
  async #reached(cursor: number): Promise<void> {
    const { events, clock } = this.#deps;
    if (events.head >= cursor) return;
    let unfollow = (): void => undefined;
    const done = new Promise<void>((resolve) => {
      unfollow = events.follow(() => events.head >= cursor && resolve());
    });
    await completesWithin(clock, logMsMax, done);
    unfollow();
  }
}
