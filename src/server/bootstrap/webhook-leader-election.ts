/**
 * The webhooks of a cluster: they are delivered by the node whose turn it is, and only by it. When the turn comes, the
 * delivery store that the last one kept is taken over before anything is sent; when it ends, sending ends at once. The other nodes
 * tell operators where to ask. Source: events.md, Webhooks; cluster.md, Events.
 */
import type { WebhookLease } from '../../cluster/membership/webhook-lease.ts';
import type { NatsDeliveryStore } from '../../cluster/records/nats-delivery-store.ts';
import { type Cancel, type Clock, completesWithin } from '../../lib/clock.ts';
import { fail } from '../../lib/result.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { Log } from '../../lib/log.ts';
import type { WebhookQuestion, WebhookReply } from '../../webhooks/worker/webhook-messages.ts';
import type { WebhookAnswers } from '../../core/ports/webhook-admin.ts';
import { webhookRoutes } from '../../gateways/admin/webhook-routes.ts';
import { seedDeliveryStore, WebhookTables } from '../../storage/webhooks/lmdb-delivery-store.ts';
import { Webhooks, type WebhookService, type WebhooksDeps } from './webhook-service.ts';

export type WebhookLeadership = Pick<WebhookLease, 'isHeld' | 'holder' | 'start' | 'release'>;

export type WebhookLeaderElectionDeps = Omit<WebhooksDeps, 'replicateDeliveries' | 'events'> & {
  readonly clock: Clock;
  readonly log: Log;
  readonly events: Pick<EventLog, 'head' | 'follow'>;
  readonly deliveries: Pick<NatsDeliveryStore, 'load' | 'keep'>;
  /** True: the leader cannot be known now. */
  readonly isCutOff: () => boolean;
  /** Made with what it is to call when the turn comes and goes. */
  readonly turns: (told: { onGained: () => void; onLost: () => void }) => WebhookLeadership;
};

/** The log here may be behind what the last holder had delivered: so long it is waited for. */
const logMsMax = 10_000;
/** A turn that could not be begun is tried again after this, while it lasts. */
const retryMs = 3000;

export class WebhookLeaderElection implements WebhookService {
  readonly routes: readonly AdminRoute[];
  readonly #deps: WebhookLeaderElectionDeps;
  readonly #turns: WebhookLeadership;
  #webhooks: Webhooks | null = null;
  /** One change of turns after the other. */
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

  /** Once the members that live are known. */
  start(): void {
    this.#turns.start();
  }

  registryChanged(): void {
    this.#webhooks?.registryChanged();
  }

  /** Resolves when this node delivers no more, and another may. */
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
      return 'NATS does not answer, so it is not known which node delivers the webhooks: reveille doctor asks NATS';
    if (holder === null) return 'no node is known to deliver the webhooks now; ask again in a moment';
    return `the webhooks are delivered by the node ${holder.slice(0, holder.lastIndexOf('/'))}: ask there`;
  }

  #change(act: () => Promise<void>): void {
    this.#changing = this.#changing.then(act).catch((error: unknown) => {
      this.#deps.log.error({ err: error }, 'the webhooks could not be begun or ended; tried again');
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
    // What changed while it started, too.
    webhooks.registryChanged();
    log.info({ cursor }, 'this node delivers the webhooks now');
  }

  async #end(): Promise<void> {
    this.#cancelRetry();
    const webhooks = this.#webhooks;
    this.#webhooks = null;
    await webhooks?.abandon();
  }

  /** Resolves when the log here has come to `cursor`, or will not. */
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
