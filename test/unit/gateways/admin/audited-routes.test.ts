/** Every change that the ops listener offers, by what its line in the audit log has of it. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  intentOf,
  outcomeOf,
  type AdminRoute,
  type AuditTerms,
  type UploadRoute,
} from '../../../../src/gateways/ops/admin-route.ts';
import { localOperator } from '../../../../src/model/audit.ts';
import { registryRoutes } from '../../../../src/gateways/admin/registry-routes.ts';
import { deviceRoutes } from '../../../../src/gateways/admin/device-routes.ts';
import { wakeRoute } from '../../../../src/gateways/admin/wake-route.ts';
import { callMediaRoutes } from '../../../../src/gateways/admin/call-media-routes.ts';
import { callRoutes } from '../../../../src/gateways/admin/call-routes.ts';
import { opsTokenRoutes, tokenKeyRoutes } from '../../../../src/gateways/admin/secret-routes.ts';
import { RegistryRefresh } from '../../../../src/server/bootstrap/registry-refresh.ts';
import { upgradeRoutes } from '../../../../src/server/site/upgrade-routes.ts';
import { webhookRoutes } from '../../../../src/gateways/admin/webhook-routes.ts';
import { begunLine, endedLine } from '../../../../src/storage/audit/audit-files.ts';
import { checkout } from '../../../support/checkout.ts';

/** Nothing is asked of it: routes are only looked at. */
const nobody = {} as never;

const routes: readonly (AdminRoute | UploadRoute)[] = [
  ...registryRoutes(nobody),
  ...deviceRoutes(nobody),
  wakeRoute(nobody),
  ...callRoutes(nobody),
  ...opsTokenRoutes(nobody),
  ...tokenKeyRoutes(nobody),
  ...callMediaRoutes(nobody),
  ...webhookRoutes(nobody),
  ...new RegistryRefresh(nobody).routes(),
  ...upgradeRoutes(nobody),
];

const changes = routes.flatMap((route) => ('audit' in route ? [route] : []));

test('every route that is no question is looked at here, and says what the audit log has of it', () => {
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
  const asked = routes.filter((route) => !('audit' in route));
  assert.deepEqual(new Set(asked.map(({ method }) => method)), new Set(['GET']));
});

test('no two changes are called the same', () => {
  const actions = changes.map(({ audit }) => audit.action);
  assert.equal(new Set(actions).size, actions.length);
});

/** Whatever field has it, and however deep, a value in it is a secret. */
const secret = 'hunter2';
const secretNames = ['secret', 'secret_key', 'key', 'token', 'ticket', 'msg_session_token', 'authorization'];
const secrets = Object.fromEntries(secretNames.map((name) => [name, secret]));

function line({ action, asked = [], answered = {} }: AuditTerms, status: number): string {
  const named = Object.fromEntries(asked.map((name) => [name, `id-${name}`]));
  const url = `https://user:${secret}@backend.example/hook?key=${secret}`;
  const body = { ...secrets, ...named, ...('url' in named && { url }), body: secrets };
  const reply: Record<string, unknown> = { ...secrets, url, error: 'no such thing' };
  for (const place of Object.values(answered)) {
    const keys = place.split('.');
    const last = keys.pop() ?? '';
    let inner = reply;
    for (const key of keys) inner = (inner[key] ??= { ...secrets }) as Record<string, unknown>;
    inner[last] = `id-${place}`;
  }
  const caller = { operator: localOperator, from: '127.0.0.1', holds: () => true };
  const begun = begunLine(intentOf(caller, { action, asked, answered }, body), 0);
  return JSON.stringify(endedLine(begun, outcomeOf({ status, body: reply }, { action, asked, answered })));
}

for (const { path, audit } of changes)
  test(`of ${path} the line has the ids and no secret, of the body or of the answer`, () => {
    for (const status of [200, 400, 404, 500]) {
      const text = line(audit, status);
      assert.equal(text.includes(secret), false, text);
      for (const name of audit.asked ?? [])
        assert.ok(
          text.includes(name === 'url' ? 'https://user:***@backend.example/hook?key=***' : `id-${name}`),
          text,
        );
    }
    const told = line(audit, 200);
    const answered = Object.entries(audit.answered ?? {});
    for (const [name, place] of answered) assert.ok(told.includes(`"${name}":"id-${place}"`), told);
  });

test('what an answer says of the end is told: refused for the asker to mend, failed for the server', () => {
  const terms: AuditTerms = { action: 'device.kick' };
  const told = (status: number) => outcomeOf({ status, body: { error: 'why' } }, terms);
  assert.deepEqual(told(404), { result: 'refused', reason: 'why' });
  assert.deepEqual(told(503), { result: 'failed', reason: 'why' });
  assert.deepEqual(told(200), { result: 'ok', ids: {} });
  assert.deepEqual(outcomeOf({ status: 404, body: null }, terms), { result: 'refused' });
});
