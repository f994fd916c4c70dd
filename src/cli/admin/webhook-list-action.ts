/** What `reveille webhook list` does: asks the running server, or looks into the store at rest. */
import type { Webhook } from '../../model/registry.ts';
import type { WebhookStatus } from '../../core/ports/webhook-admin.ts';
import {
  encodeParked,
  encodeWebhook,
  type ParkedJson,
  type WebhookJson,
} from '../../gateways/admin/webhook-json.ts';
import { openStoreReadOnly, type Store } from '../../storage/lmdb/open-store.ts';
import { StoredEvents } from '../../storage/events/stored-events.ts';
import { LmdbDeliveryStore } from '../../storage/webhooks/lmdb-delivery-store.ts';
import { hasWebhookTables, WebhookTables } from '../../storage/webhooks/webhook-tables.ts';
import { describeParked, describeWebhook } from '../../webhooks/delivery/webhook-status.ts';
import { CommandError } from '../shell/command-error.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { findOpsClient } from './ops-client.ts';
import { webhookName, type NameOptions } from './webhook-name.ts';
import { describeWebhookAlone, webhookTable } from './webhook-view.ts';

export interface ListOptions extends NameOptions {
  readonly limit: number;
  /** The sequence of the last parked event seen. */
  readonly after: number;
}

interface Listing {
  readonly webhooks: readonly WebhookJson[];
  /** Of one that was named. */
  readonly parked?: readonly ParkedJson[];
}

/** `url` null: all of them, without their parked events. Throws a CommandError, or a StoreOpenError where there is no store. */
export async function listWebhooks(
  context: CommandContext,
  url: string | null,
  options: ListOptions,
): Promise<void> {
  const { clock, dataDirectory, output } = context;
  const ops = findOpsClient(dataDirectory);
  const listing =
    ops === null
      ? await listAtRest(dataDirectory, url, options)
      : await ops.ask<Listing>('/v1/webhook/list', queryOf(url, options));
  const [webhook] = listing.webhooks;
  const { parked } = listing;
  const text =
    webhook !== undefined && parked !== undefined
      ? describeWebhookAlone(webhook, parked, clock.wallMs())
      : webhookTable(listing.webhooks, clock.wallMs());
  output.answer(listing, text);
  if (ops === null) output.remark('no server runs: this is how the last one left it');
}

function queryOf(url: string | null, options: ListOptions): URLSearchParams {
  if (url === null) return new URLSearchParams();
  const { limit, after } = options;
  return new URLSearchParams({ ...webhookName(url, options), limit: String(limit), after: String(after) });
}

async function listAtRest(dataDirectory: string, url: string | null, options: ListOptions): Promise<Listing> {
  const store = openStoreReadOnly(dataDirectory);
  const tables = hasWebhookTables(store.directory) ? new WebhookTables(store.directory, 'read-only') : null;
  try {
    const look = new RestingLook(store, tables === null ? null : new LmdbDeliveryStore(tables));
    return url === null ? look.all() : look.one(url, options);
  } finally {
    await tables?.environment.close();
    await store.close();
  }
}

class RestingLook {
  readonly #store: Store;
  /** Null: no server with webhooks has run yet. */
  readonly #deliveries: LmdbDeliveryStore | null;

  constructor(store: Store, deliveries: LmdbDeliveryStore | null) {
    this.#store = store;
    this.#deliveries = deliveries;
  }

  all(): Listing {
    return { webhooks: this.#webhooks().map((webhook) => encodeWebhook(this.#describe(webhook))) };
  }

  one(url: string, { app, after, limit }: ListOptions): Listing {
    const [webhook, other] = this.#webhooks().filter(
      (candidate) => candidate.url === url && (app === undefined || candidate.appId === app),
    );
    if (webhook === undefined) throw new CommandError(`no webhook ${url} in the registry`);
    if (other !== undefined)
      throw new CommandError(`several applications have the webhook ${url}`, 'name one with --app');
    const record = this.#deliveries?.hooks().get(idOf(webhook));
    const parked = record === undefined ? [] : (this.#deliveries?.parked(record.number, after, limit) ?? []);
    return {
      webhooks: [encodeWebhook(this.#describe(webhook))],
      parked: parked.map((event) => encodeParked(describeParked(event))),
    };
  }

  #webhooks(): Webhook[] {
    return Array.from(this.#store.registry.entries('webhook'));
  }

  #describe(webhook: Webhook): WebhookStatus {
    const record = this.#deliveries?.hooks().get(idOf(webhook)) ?? null;
    const failed = record === null ? 0 : (this.#deliveries?.countFailed(record.number) ?? 0);
    const { head } = new StoredEvents(this.#store.state);
    return describeWebhook(webhook, record, { head, failed, isCircuitOpen: false });
  }
}

function idOf({ appId, url }: Webhook): string {
  return `${appId}\n${url}`;
}
