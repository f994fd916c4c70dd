/**
 * Webhooks on the ops listener. `GET /v1/webhook/list` lists all; with `url` (and `app_id` if several applications use it) one,
 * and at most `limit` of its parked events after the sequence `after`. `POST /v1/webhook/test`, `/replay` and `/enable` identify
 * a webhook in their body by its URL, plain or masked as in the answers.
 */
import type { WebhookAnswers, WebhookName } from '../../webhooks/delivery/webhook-admin.ts';
import { z } from 'zod';
import type { EventId } from '../../model/ids.ts';
import { type AdminAnswer, type AdminRoute, changeRoute, readRoute, refuse } from '../ops/admin-route.ts';
import type { WebhookReply } from '../../webhooks/worker/webhook-messages.ts';
import type { WebhookThread } from '../../webhooks/worker/webhook-thread.ts';

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
      async (body) => answerOf(await thread.ask({ kind: 'test', name: nameOf(body) })),
      { answered: { delivered: 'delivered' } },
    ),
    changeRoute(
      '/v1/webhook/replay',
      replayBody,
      async (body) => {
        const eventId = body.event_id as EventId | null;
        return answerOf(await thread.ask({ kind: 'replay', name: nameOf(body), eventId }));
      },
      { answered: { replayed: 'replayed' } },
    ),
    changeRoute('/v1/webhook/enable', nameBody, async (body) =>
      answerOf(await thread.ask({ kind: 'enable', name: nameOf(body) }), (webhook) => ({ webhook })),
    ),
  ];
}

async function list(thread: Thread, query: z.output<typeof listQuery>): Promise<AdminAnswer> {
  const { url, app_id: appId, after, limit } = query;
  if (url === undefined) return answerOf(await thread.ask({ kind: 'list' }), (webhooks) => ({ webhooks }));
  const shown = await thread.ask({ kind: 'show', name: { url, appId }, after, limit });
  return answerOf(shown, ({ webhook, parked }) => ({ webhooks: [webhook], parked }));
}

function nameOf({ url, app_id: appId }: z.output<typeof nameBody>): WebhookName {
  return { url, appId };
}

const refusalStatuses = { unknown: 404, ambiguous: 409, busy: 503, unavailable: 503 } as const;

function answerOf<Kind extends keyof WebhookAnswers>(
  reply: WebhookReply<Kind>,
  bodyOf: (answer: WebhookAnswers[Kind]) => object = (answer) => answer,
): AdminAnswer {
  if (reply.ok) return bodyOf(reply.value);
  return refuse(refusalStatuses[reply.error.kind], reply.error.message);
}
