/** Compares `docs/ops-api.md` with the routes of the ops listener in the code. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { checkout, readFromRoot } from '../support/checkout.ts';

const declared = [
  { form: /\breadRoute\(\s*'(\/[^']+)'/g, method: 'GET' },
  { form: /\bchangeRoute\(\s*'(\/[^']+)'/g, method: 'POST' },
  { form: /\bmethod: 'GET',\s*path: '(\/v1[^']+)'/g, method: 'GET' },
  { form: /\bmethod: 'POST',\s*path: '(\/v1[^']+)'/g, method: 'POST' },
];

/** Routes of the signed API are in `docs/openapi.yaml` instead. */
function isOfTheOpsListener(path: string): boolean {
  return path.endsWith('.ts') && /^(?:gateways\/(?:admin|console|ops)|server)\//.test(path);
}

function routesIn(text: string): string[] {
  return declared.flatMap(({ form, method }) =>
    Array.from(text.matchAll(form), ([, path = '']) => `${method} ${path}`),
  );
}

test('docs/ops-api.md has a row for each route of the ops listener, and no other', () => {
  const source = new URL('src/', checkout);
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(isOfTheOpsListener);
  const routes = files.flatMap((path) => routesIn(readFileSync(new URL(path, source), 'utf8')));
  assert.ok(routes.length > 25, 'hardly a route is found');
  const page = readFromRoot('docs/ops-api.md');
  const rows = Array.from(page.matchAll(/^\| `((?:GET|POST) \/v1[^`]+)`/gm), ([, route = '']) => route);
  assert.deepEqual(rows.toSorted(), routes.toSorted());
});

test('the check sees a route however it is declared', () => {
  const text = `readRoute('/v1/a', q); changeRoute(\n  '/v1/b', r); { method: 'POST', path: '/v1/c' }`;
  assert.deepEqual(routesIn(text), ['GET /v1/a', 'POST /v1/b', 'POST /v1/c']);
});
