/** Every route of the ops listener: its audit terms, and its answer to an invalid request. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  AdminRefusal,
  intentOf,
  outcomeOf,
  refuse,
  type AdminRoute,
  type AuditTerms,
  type UploadRoute,
} from '../../../../src/gateways/ops/admin-route.ts';
import { auditIds, localOperator } from '../../../../src/model/audit.ts';
import { registryRoutes } from '../../../../src/gateways/admin/registry-routes.ts';
import { deviceListRoute } from '../../../../src/gateways/admin/device-list-route.ts';
import { deviceRoutes } from '../../../../src/gateways/admin/device-routes.ts';
import { messageRoute, wakeRoute } from '../../../../src/gateways/admin/wake-route.ts';
import { callMediaRoutes, callRoutes } from '../../../../src/gateways/admin/call-routes.ts';
import { opsTokenRoutes, tokenKeyRoutes } from '../../../../src/gateways/admin/secret-routes.ts';
import { RegistryRefresh } from '../../../../src/server/bootstrap/registry-refresh.ts';
import { upgradeRoutes } from '../../../../src/server/site/upgrade-routes.ts';
import { webhookRoutes } from '../../../../src/gateways/admin/webhook-routes.ts';
import { begunLine, endedLine } from '../../../../src/storage/audit/audit-files.ts';
import { askRoute } from '../../../support/ask-route.ts';
import { checkout } from '../../../support/checkout.ts';

/** Never called: the tests only read the routes' declarations. */
const nobody = {} as never;

const routes: readonly (AdminRoute | UploadRoute)[] = [
  ...registryRoutes(nobody),
  ...deviceRoutes(nobody),
  wakeRoute(nobody),
  messageRoute(nobody),
  ...callRoutes(nobody),
  ...opsTokenRoutes(nobody),
  ...tokenKeyRoutes(nobody),
  ...callMediaRoutes(nobody),
  ...webhookRoutes(nobody),
  ...new RegistryRefresh(nobody).routes(),
  ...upgradeRoutes(nobody),
  deviceListRoute(nobody),
];

const changes = routes.flatMap((route) => ('audit' in route ? [route] : []));

test('every route that changes something is covered here, and declares its audit terms', () => {
  const folder = new URL('src/', checkout);
  const source = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('gateways/api/'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const written = source.flatMap((text) => [
    ...Array.from(text.matchAll(/changeRoute\(\s*'([^']+)'/g), ([, path]) => path),
    ...Array.from(text.matchAll(/method: '(?:POST|PUT|DELETE)',\s*path: '([^']+)'/g), ([, path]) => path),
  ]);
  assert.ok(written.length > 15);
  assert.deepEqual(new Set(changes.map(({ path }) => path)), new Set(written));
  assert.equal(changes.length, written.length);
  const questions = routes.filter((route) => !('audit' in route));
  assert.deepEqual(new Set(questions.map(({ method }) => method)), new Set(['GET']));
});

test('no two changes have the same action', () => {
  const actions = changes.map(({ audit }) => audit.action);
  assert.equal(new Set(actions).size, actions.length);
});

/** A secret in any field, at any depth. */
const secret = 'hunter2';
const secretNames = ['secret', 'secret_key', 'key', 'token', 'ticket', 'msg_session_token', 'authorization'];
const secrets = Object.fromEntries(secretNames.map((name) => [name, secret]));
const url = `https://user:${secret}@backend.example/hook?key=${secret}`;
const named = Object.fromEntries(auditIds.map((name) => [name, `id-${name}`]));
const asked = { ...secrets, ...named, url, body: secrets };
const caller = { operator: localOperator, from: '127.0.0.1', isAdmitted: () => true };

/** An answer with an id at each of its places, next to secrets. */
function answerTo({ answered = {} }: AuditTerms): object {
  const answer: Record<string, unknown> = { ...secrets, url };
  for (const place of Object.values(answered)) {
    const keys = place.split('.');
    const last = keys.pop() ?? '';
    let inner = answer;
    for (const key of keys) inner = (inner[key] ??= { ...secrets }) as Record<string, unknown>;
    inner[last] = `id-${place}`;
  }
  return answer;
}

for (const { path, audit } of changes)
  test(`the audit line of ${path} has ids and no secret, from the body or from the answer`, () => {
    const begun = begunLine(intentOf(caller, audit, asked), 0);
    for (const answer of [answerTo(audit), refuse(404, 'no such thing')]) {
      const line = endedLine(begun, outcomeOf(answer, audit));
      const text = JSON.stringify(line);
      assert.equal(text.includes(secret), false, text);
      assert.equal(line.ids.url, 'https://user:***@backend.example/hook?key=***');
      const ids = answer instanceof AdminRefusal ? {} : (audit.answered ?? {});
      for (const name of auditIds.filter((each) => each !== 'url'))
        assert.equal(line.ids[name], `id-${ids[name] ?? name}`);
    }
  });

test('an answer determines the result: refused if the request is wrong, failed if the server is', () => {
  const terms: AuditTerms = { action: 'device.kick' };
  assert.deepEqual(outcomeOf(refuse(404, 'why'), terms), { result: 'refused', reason: 'why' });
  assert.deepEqual(outcomeOf(refuse(503, 'why'), terms), { result: 'failed', reason: 'why' });
  assert.deepEqual(outcomeOf({}, terms), { result: 'ok', ids: {} });
});

const bridge = { bridge_id: 'bridge-1', app_ids: ['2818153'] };
const hook = { url: 'https://a.example/hook' };
/** A text is a query, anything else a body; the answer names the field. */
const mistakes: readonly (readonly [path: string, asked: unknown, field: string])[] = [
  ['/v1/calls', 'limit=0', 'limit'],
  ['/v1/calls', 'limit=1001', 'limit'],
  ['/v1/calls', 'limit=many', 'limit'],
  ['/v1/calls', 'device_id=', 'device_id'],
  ['/v1/calls', 'device=1', 'device'],
  ['/v1/calls', 'limit=1&limit=2', 'limit'],
  ['/v1/calls', '__proto__=1', '__proto__'],
  ['/v1/calls/end', {}, 'session'],
  ['/v1/calls/end', { session: '1', reason: 'bored' }, 'reason'],
  ['/v1/calls/ticket', { session: 1 }, 'session'],
  ['/v1/device/list', 'limit=201', 'limit'],
  ['/v1/device/list', 'state=awake', 'state'],
  ['/v1/device/list', 'after=', 'after'],
  ['/v1/device/list', 'colour=red', 'colour'],
  ['/v1/device/wake', { device_id: 'd', custom_data: '12ab' }, 'custom_data'],
  ['/v1/device/wake', { device_id: 'd', colour: 'red' }, 'colour'],
  ['/v1/device/message', { device_id: 'd', payload: {} }, 'name'],
  ['/v1/device/message', { device_id: 'd', name: 'ring', payload: 'loud' }, 'payload'],
  ['/v1/device/message', { device_id: 'd', name: 'ring', payload: {}, wake: true }, 'wake'],
  ['/v1/token-keys/rotate', { kid: 'a1' }, 'kid'],
  ['/v1/token-keys/rotate', [], 'body'],
  ['/v1/token-keys/retire', undefined, 'body'],
  ['/v1/token-keys/retire', { kid: '' }, 'kid'],
  ['/v1/token-keys/retire', { kid: 7 }, 'kid'],
  ['/v1/token-keys/retire', { kid: 'a1', force: true }, 'force'],
  ['/v1/webhook/list', 'url=x&limit=many', 'limit'],
  ['/v1/webhook/list', 'uri=x', 'uri'],
  ['/v1/webhook/test', {}, 'url'],
  ['/v1/webhook/test', { url: 5 }, 'url'],
  ['/v1/webhook/replay', { ...hook, event_id: '' }, 'event_id'],
  ['/v1/webhook/enable', { ...hook, more: true }, 'more'],
  ['/v1/bridge/add', { ...bridge, bridge_id: undefined }, 'bridge_id'],
  ['/v1/bridge/add', { ...bridge, bridge_id: '' }, 'bridge_id'],
  ['/v1/bridge/add', { ...bridge, bridge_id: 'a\nb' }, 'bridge_id'],
  ['/v1/bridge/add', { ...bridge, app_ids: [] }, 'app_ids'],
  ['/v1/bridge/add', { ...bridge, app_ids: [''] }, 'app_ids'],
  ['/v1/bridge/add', { ...bridge, key: 'chosen' }, 'key'],
];

test('an invalid request is 400 and names the field, and nothing is read or changed', async () => {
  const answering = routes.flatMap((route) => ('upload' in route ? [] : [route]));
  for (const [path, asked, field] of mistakes) {
    const method = typeof asked === 'string' ? 'GET' : 'POST';
    const { status, body } = await askRoute(answering, method, path, asked);
    assert.equal(status, 400, `${path} ${JSON.stringify(asked)}`);
    assert.ok((body as { error: string }).error.includes(field), JSON.stringify(body));
  }
});
