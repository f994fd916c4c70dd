import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId } from '../../../../src/model/ids.ts';
import type { WebhookAdminRefusal, WebhookJson } from '../../../../src/webhooks/delivery/webhook-admin.ts';
import type { WebhookQuestion, WebhookReply } from '../../../../src/webhooks/worker/webhook-messages.ts';
import { webhookRoutes } from '../../../../src/gateways/admin/webhook-routes.ts';
import type { WebhookThread } from '../../../../src/webhooks/worker/webhook-thread.ts';
import { askRoute, type RouteReply } from '../../../support/ask-route.ts';

const url = 'https://backend.example/hook';
const status: WebhookJson = {
  app_id: '2818153' as ApplicationId,
  url,
  types: ['*'],
  state: 'off',
  behind: 3,
  failed: 2,
  parked: 1,
  last_success_at: null,
  last_failure: { at: '2027-01-15T08:00:00.000+00:00', status: 500, reason: 'answered 500' },
  switched_off_at: '2027-01-15T08:00:01.000+00:00',
};

/** Calls one route, whose thread gives this answer; returns what the thread was asked. */
async function ask(
  method: 'GET' | 'POST',
  path: string,
  asked: { readonly query?: Record<string, string>; readonly body?: unknown },
  reply: WebhookReply = { ok: true, value: [] },
): Promise<RouteReply & { readonly questions: readonly WebhookQuestion[] }> {
  const questions: WebhookQuestion[] = [];
  const thread = {
    ask: async (question: WebhookQuestion) => {
      questions.push(question);
      return reply;
    },
  } as Pick<WebhookThread, 'ask'>;
  const query = asked.query && new URLSearchParams(asked.query).toString();
  const answered = await askRoute(webhookRoutes(thread), method, path, query ?? asked.body);
  return { ...answered, questions };
}

test('the list has all webhooks', async () => {
  const listed = await ask('GET', '/v1/webhook/list', {}, { ok: true, value: [status] });
  assert.deepEqual(listed.questions, [{ kind: 'list' }]);
  assert.deepEqual([listed.status, listed.body], [200, { webhooks: [status] }]);
});

test('the list of one webhook has its parked events', async () => {
  const query = { url, app_id: '2818153', after: '5', limit: '10' };
  const value = { webhook: status, parked: [] };
  const listed = await ask('GET', '/v1/webhook/list', { query }, { ok: true, value });
  assert.deepEqual(listed.questions, [
    { kind: 'show', name: { url, appId: '2818153' }, after: 5, limit: 10 },
  ]);
  assert.deepEqual(listed.body, { webhooks: [status], parked: [] });
});

test('a test reports its answer', async () => {
  const value = { delivered: false, status: 500, reason: 'answered 500', took_ms: 12 };
  const tested = await ask('POST', '/v1/webhook/test', { body: { url } }, { ok: true, value });
  assert.deepEqual(tested.questions, [{ kind: 'test', name: { url, appId: null } }]);
  assert.deepEqual(tested.body, value);
});

test('a replay is for all parked events or one', async () => {
  const reply = { ok: true, value: { replayed: 2, parked: 0 } } as const;
  const all = await ask('POST', '/v1/webhook/replay', { body: { url } }, reply);
  assert.deepEqual(all.questions, [{ kind: 'replay', name: { url, appId: null }, eventId: null }]);
  assert.deepEqual(all.body, { replayed: 2, parked: 0 });
  const one = await ask('POST', '/v1/webhook/replay', { body: { url, app_id: '1', event_id: 'e' } }, reply);
  assert.deepEqual(one.questions, [{ kind: 'replay', name: { url, appId: '1' }, eventId: 'e' }]);
});

test('enabling returns the new state', async () => {
  const enabled = await ask('POST', '/v1/webhook/enable', { body: { url } }, { ok: true, value: status });
  assert.deepEqual(enabled.questions, [{ kind: 'enable', name: { url, appId: null } }]);
  assert.deepEqual(enabled.body, { webhook: status });
});

const refusals: Readonly<Record<WebhookAdminRefusal['kind'], number>> = {
  unknown: 404,
  ambiguous: 409,
  busy: 503,
  unavailable: 503,
};

for (const [kind, code] of Object.entries(refusals) as [WebhookAdminRefusal['kind'], number][])
  test(`every route answers ${code} for a webhook that is ${kind}`, async () => {
    const reply: WebhookReply = { ok: false, error: { kind, message: 'why' } };
    for (const [method, path, asked] of [
      ['GET', '/v1/webhook/list', {}],
      ['GET', '/v1/webhook/list', { query: { url } }],
      ['POST', '/v1/webhook/test', { body: { url } }],
      ['POST', '/v1/webhook/replay', { body: { url } }],
      ['POST', '/v1/webhook/enable', { body: { url } }],
    ] as const) {
      const refused = await ask(method, path, asked, reply);
      assert.deepEqual([refused.status, refused.body], [code, { error: 'why' }]);
    }
  });
