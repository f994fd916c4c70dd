/**
 * Webhooks on the ops listener. `GET /v1/webhook/list` lists all of them; with `url` (and `app_id`, where several
 * applications have it) one, and its parked events behind the sequence `after`, at most `limit`. `POST
 * /v1/webhook/test`, `/replay` and `/enable` name one in their body, by its URL or by the masked one that the answers have.
 */
import type { DeliveryFailure } from '../../core/ports/delivery-store.ts';
import type {
  ParkedStatus,
  WebhookStatus,
  WebhookAdminRefusal,
  WebhookName,
} from '../../core/ports/webhook-admin.ts';
import { formatTimestamp, timestampOrNull } from '../../protocol/rest/shared-fields.ts';
import { z } from 'zod';
import type { EventId } from '../../model/ids.ts';
import { maskUrl } from '../../model/registry.ts';
import { type AdminReply, type AdminRoute, changeRoute, readRoute, refuse } from '../ops/admin-route.ts';
import type { WebhookThread } from '../../webhooks/worker/webhook-thread.ts';

export interface FailureJson {
  readonly at: string;
  readonly status: number | null;
  readonly reason: string;
}

export interface WebhookJson {
  readonly app_id: string;
  readonly url: string;
  readonly types: readonly string[];
  readonly state: WebhookStatus['state'];
  readonly behind: number;
  readonly failed: number;
  readonly parked: number;
  readonly last_success_at: string | null;
  readonly last_failure: FailureJson | null;
  readonly switched_off_at: string | null;
}

export interface ParkedJson {
  readonly event_id: string;
  readonly sequence: number;
  readonly type: string;
  readonly device_id: string;
  readonly at: string;
  readonly last_failure: FailureJson;
}

function encodeWebhook(status: WebhookStatus): WebhookJson {
  return {
    app_id: status.appId,
    url: maskUrl(status.url),
    types: status.types,
    state: status.state,
    behind: status.behind,
    failed: status.failed,
    parked: status.parked,
    last_success_at: timestampOrNull(status.lastSuccessAtMs),
    last_failure: status.lastFailure && encodeFailure(status.lastFailure),
    switched_off_at: timestampOrNull(status.switchedOffAtMs),
  };
}

function encodeParked({ eventId, sequence, type, deviceId, atMs, failure }: ParkedStatus): ParkedJson {
  return {
    event_id: eventId,
    sequence,
    type,
    device_id: deviceId,
    at: formatTimestamp(atMs),
    last_failure: encodeFailure(failure),
  };
}

function encodeFailure({ atMs, status, reason }: DeliveryFailure): FailureJson {
  return { at: formatTimestamp(atMs), status, reason };
}

const parkedShownDefault = 100;

const wholeNumber = z.coerce.number().int().nonnegative();
const name = { url: z.string().min(1), app_id: z.string().min(1).nullable().default(null) };
const nameBody = z.strictObject(name);
const replayBody = z.strictObject({ ...name, event_id: z.string().min(1).nullable().default(null) });
const listQuery = z.strictObject({
  url: z.string().min(1).optional(),
  app_id: z.string().min(1).nullable().default(null),
  after: wholeNumber.default(0),
  limit: wholeNumber.default(parkedShownDefault),
});

type Thread = Pick<WebhookThread, 'ask'>;

export function webhookRoutes(thread: Thread): AdminRoute[] {
  return [
    readRoute('/v1/webhook/list', listQuery, (query) => list(thread, query)),
    changeRoute(
      '/v1/webhook/test',
      nameBody,
      { action: 'webhook.test', asked: ['url', 'app_id'], answered: { delivered: 'delivered' } },
      (body) => test(thread, nameOf(body)),
    ),
    changeRoute(
      '/v1/webhook/replay',
      replayBody,
      { action: 'webhook.replay', asked: ['url', 'app_id', 'event_id'], answered: { replayed: 'replayed' } },
      (body) => replay(thread, nameOf(body), body.event_id as EventId | null),
    ),
    changeRoute(
      '/v1/webhook/enable',
      nameBody,
      { action: 'webhook.enable', asked: ['url', 'app_id'] },
      (body) => enable(thread, nameOf(body)),
    ),
  ];
}

async function list(thread: Thread, query: z.output<typeof listQuery>): Promise<AdminReply> {
  const { url, app_id: appId, after, limit } = query;
  if (url === undefined) {
    const listed = await thread.ask({ kind: 'list' });
    return listed.ok ? done({ webhooks: listed.value.map(encodeWebhook) }) : refused(listed.error);
  }
  const shown = await thread.ask({ kind: 'show', name: { url, appId }, after, limit });
  if (!shown.ok) return refused(shown.error);
  const { webhook, parked } = shown.value;
  return done({ webhooks: [encodeWebhook(webhook)], parked: parked.map(encodeParked) });
}

async function test(thread: Thread, name: WebhookName): Promise<AdminReply> {
  const tested = await thread.ask({ kind: 'test', name });
  if (!tested.ok) return refused(tested.error);
  const { delivered, status, reason, tookMs } = tested.value;
  return done({ delivered, status, reason, took_ms: tookMs });
}

async function replay(thread: Thread, name: WebhookName, eventId: EventId | null): Promise<AdminReply> {
  const replayed = await thread.ask({ kind: 'replay', name, eventId });
  return replayed.ok ? done(replayed.value) : refused(replayed.error);
}

async function enable(thread: Thread, name: WebhookName): Promise<AdminReply> {
  const enabled = await thread.ask({ kind: 'enable', name });
  return enabled.ok ? done({ webhook: encodeWebhook(enabled.value) }) : refused(enabled.error);
}

function nameOf({ url, app_id: appId }: z.output<typeof nameBody>): WebhookName {
  return { url, appId };
}

function done(body: object): AdminReply {
  return { status: 200, body };
}

const refusalStatuses = { unknown: 404, ambiguous: 409, busy: 503, unavailable: 503 } as const;

function refused({ kind, message }: WebhookAdminRefusal): AdminReply {
  return refuse(refusalStatuses[kind], message);
}
