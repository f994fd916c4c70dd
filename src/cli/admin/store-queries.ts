/** The read routes of the ops listener on a store at rest, each answered as a running server would. */
import type { DeviceId } from '../../model/ids.ts';
import { findNamed, maskUrl, severalNamed, type Webhook } from '../../model/registry.ts';
import type { WebhookStatus } from '../../core/ports/webhook-admin.ts';
import {
  describeDevice,
  type DeviceStatus,
  type ObservedConnection,
} from '../../gateways/admin/device-routes.ts';
import {
  answerEventsRequest,
  type EventsAnswer,
  parseEventsRequest,
} from '../../gateways/admin/event-query.ts';
import {
  encodeOpsTokens,
  type OpsTokenListing,
  encodeTokenKeys,
  type TokenKeyListing,
} from '../../gateways/admin/secret-routes.ts';
import {
  encodeParked,
  encodeWebhook,
  type ParkedJson,
  type WebhookJson,
} from '../../gateways/admin/webhook-routes.ts';
import {
  describeWakeups,
  parseWakeupsQuery,
  type WakeupsAnswer,
} from '../../gateways/admin/wakeup-routes.ts';
import { registryListRoutes } from '../../gateways/admin/registry-lists.ts';
import { assert } from '../../lib/assert.ts';
import { refusalOf } from './ops-client.ts';
import { wakeupsShownMax } from '../../model/limits.ts';
import { listStoredWakeups } from '../../storage/records/stored-wakeups.ts';
import { StoredEvents } from '../../storage/events/stored-events.ts';
import { tokenKeyFileOf } from '../../storage/keys/token-key-file.ts';
import { OpsTokenFile } from '../../storage/keys/ops-token-file.ts';
import { requireStorePlace } from '../../storage/lmdb/store-access.ts';
import { openStoreReadOnly, type Store } from '../../storage/lmdb/open-store.ts';
import { findConnectionRecord, type ConnectionTables } from '../../storage/records/connection-rows.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import {
  LmdbDeliveryStore,
  hasWebhookTables,
  WebhookTables,
} from '../../storage/webhooks/lmdb-delivery-store.ts';
import { describeParked, describeWebhook } from '../../webhooks/delivery/webhook-admin.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { CommandError, usageError } from '../shell/command-error.ts';

export type StoreContext = Pick<CommandContext, 'clock' | 'dataDirectory' | 'settings'>;

type StoreQuery = (context: StoreContext, query: URLSearchParams) => Promise<object>;

/** By path of the route. Each throws a CommandError when it refuses, a StoreOpenError where there is no store. */
export const storeQueries: Readonly<Record<string, StoreQuery>> = {
  '/v1/device/status': ({ clock, dataDirectory }, query) =>
    withStore(dataDirectory, async (store) => findStatus(store, query, clock.wallMs())),
  '/v1/events': ({ dataDirectory }, query) => readStoredEvents(dataDirectory, query),
  '/v1/wakeups': ({ dataDirectory }, query) => readStoredWakeups(dataDirectory, query),
  '/v1/ops-tokens': async ({ dataDirectory }): Promise<OpsTokenListing> => {
    requireStorePlace(dataDirectory);
    return { tokens: encodeOpsTokens(await new OpsTokenFile(dataDirectory).read()) };
  },
  ...Object.fromEntries(
    ['/v1/registry/counts', '/v1/registry/list', '/v1/registry/entry'].map((path) => [
      path,
      askRegistry(path),
    ]),
  ),
  '/v1/token-keys': async ({ dataDirectory, settings }): Promise<TokenKeyListing> => {
    requireStorePlace(dataDirectory);
    return { keys: encodeTokenKeys((await tokenKeyFileOf(settings).find())?.keys ?? []) };
  },
  '/v1/webhook/list': ({ dataDirectory }, query) =>
    withStore(dataDirectory, (store) => listWebhooks(store, query)),
};

/** By the route of a running server. */
function askRegistry(path: string): StoreQuery {
  return ({ dataDirectory }, query) =>
    withStore(dataDirectory, async ({ registry }) => {
      const route = registryListRoutes(new RegistryStore(registry)).find((each) => each.path === path);
      assert(route !== undefined, 'there is such a route');
      const { status, body } = await route.handle({ query, body: undefined });
      if (status === 200) return body as object;
      throw refusalOf(status, (body as { readonly error: string }).error);
    });
}

async function withStore<Answer>(
  dataDirectory: string,
  look: (store: Store) => Promise<Answer>,
): Promise<Answer> {
  const store = openStoreReadOnly(dataDirectory);
  try {
    return await look(store);
  } finally {
    await store.close();
  }
}

async function readStoredEvents(dataDirectory: string, query: URLSearchParams): Promise<EventsAnswer> {
  const request = parseEventsRequest(query);
  if (!request.ok) throw usageError(request.error);
  return withStore(dataDirectory, ({ state }) => answerEventsRequest(new StoredEvents(state), request.value));
}

async function readStoredWakeups(dataDirectory: string, query: URLSearchParams): Promise<WakeupsAnswer> {
  const asked = parseWakeupsQuery(query);
  if (!asked.ok) throw usageError(asked.error);
  const { requestId, deviceId } = asked.value;
  return withStore(dataDirectory, ({ state }) => {
    const wakeups = [...listStoredWakeups(state.wakeups, requestId, deviceId, wakeupsShownMax)];
    return describeWakeups(new StoredEvents(state), asked.value, { wakeups, refused: [], silent: [] });
  });
}

function findStatus({ registry, state }: Store, query: URLSearchParams, nowMs: number): DeviceStatus {
  const deviceId = query.get('device_id') as DeviceId;
  const device = new RegistryStore(registry).findDevice(deviceId);
  if (device === null) throw new CommandError(`no device ${JSON.stringify(deviceId)} in the registry`);
  const observed = (tables: ConnectionTables): ObservedConnection => {
    return { record: findConnectionRecord(tables, deviceId), isHeld: false, heartbeatAt: 0 };
  };
  const { signal, sleep } = state.connections;
  const events = new StoredEvents(state);
  return describeDevice({ device, events, nowMs, signal: observed(signal), sleep: observed(sleep) });
}

export interface WebhookListing {
  readonly webhooks: readonly WebhookJson[];
  /** Its parked events, where one webhook was named. */
  readonly parked?: readonly ParkedJson[];
}

async function listWebhooks(store: Store, query: URLSearchParams): Promise<WebhookListing> {
  const tables = hasWebhookTables(store.directory) ? new WebhookTables(store.directory, 'read-only') : null;
  try {
    const deliveries = tables === null ? null : new LmdbDeliveryStore(tables);
    return query.has('url') ? oneWebhook(store, deliveries, query) : allWebhooks(store, deliveries);
  } finally {
    await tables?.environment.close();
  }
}

/** Null: no server with webhooks has run yet. */
type Deliveries = LmdbDeliveryStore | null;

function allWebhooks(store: Store, deliveries: Deliveries): WebhookListing {
  const webhooks = Array.from(store.registry.entries('webhook'));
  return { webhooks: webhooks.map((webhook) => encodeWebhook(describeStored(store, deliveries, webhook))) };
}

function oneWebhook(store: Store, deliveries: Deliveries, query: URLSearchParams): WebhookListing {
  const url = query.get('url') ?? '';
  const appId = query.get('app_id');
  const [webhook, other] = findNamed(store.registry.entries('webhook'), url, appId);
  if (webhook === undefined) throw new CommandError(`no webhook ${maskUrl(url)} in the registry`);
  if (other !== undefined) throw new CommandError(severalNamed(maskUrl(url)));
  const record = deliveries?.hooks().get(idOf(webhook));
  const [after, limit] = [Number(query.get('after')), Number(query.get('limit'))];
  const parked = record === undefined ? [] : (deliveries?.parked(record.number, after, limit) ?? []);
  return {
    webhooks: [encodeWebhook(describeStored(store, deliveries, webhook))],
    parked: parked.map((event) => encodeParked(describeParked(event))),
  };
}

function describeStored(store: Store, deliveries: Deliveries, webhook: Webhook): WebhookStatus {
  const record = deliveries?.hooks().get(idOf(webhook)) ?? null;
  const failed = record === null ? 0 : (deliveries?.countFailed(record.number) ?? 0);
  const { head } = new StoredEvents(store.state);
  return describeWebhook(webhook, record, { head, failed, isCircuitOpen: false });
}

function idOf({ appId, url }: Webhook): string {
  return `${appId}\n${url}`;
}
