/** The registry page by page, for operators. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { registryListRoutes, type RegistryPage } from '../../../../src/gateways/admin/registry-lists.ts';
import type { JsonObject } from '../../../../src/model/json.ts';
import { importRegistry } from '../../../../src/storage/registry/registry-import.ts';
import { RegistryStore } from '../../../../src/storage/registry/registry-store.ts';
import { askRoute } from '../../../support/ask-route.ts';
import { temporaryStore, writeBeside, type Ending } from '../../../support/temporary-store.ts';

/** Returns a function that reads a page of this registry. */
function pagesOf(t: Ending, registry: object): (query: Record<string, string>) => Promise<RegistryPage> {
  const store = temporaryStore(t);
  const file = writeBeside(store, 'registry.json', JSON.stringify(registry));
  assert.ok(importRegistry(store.registry, { file, replace: false, skipUnchanged: false }).ok);
  const routes = registryListRoutes(new RegistryStore(store.registry));
  return async (query) => {
    const asked = new URLSearchParams(query).toString();
    const reply = await askRoute(routes, 'GET', '/v1/registry/list', asked);
    assert.equal(reply.status, 200);
    return reply.body as RegistryPage;
  };
}

test("a page continues after its webhook, even if the application's id contains spaces", async (t) => {
  const app_id = 'two words';
  const urls = ['https://a.example/hook', 'https://b.example/hook'];
  const webhooks = urls.map((url) => ({ app_id, url, secret: `whsec_${'ab'.repeat(24)}`, types: ['*'] }));
  const ask = pagesOf(t, { applications: [{ app_id, name: 'x' }], webhooks });
  const seen: unknown[] = [];
  for (let after: string | null = ''; after !== null;) {
    const page: RegistryPage = await ask({ kind: 'webhook', limit: '1', ...(after !== '' && { after }) });
    seen.push(...page.entries.map(({ url }: JsonObject) => url));
    assert.ok(seen.length <= urls.length);
    after = page.next;
  }
  assert.deepEqual(seen, urls);
});

test('a long page is complete, and other requests are served while it is read', async (t) => {
  const app_ids = ['a'];
  const products = Array.from({ length: 500 }, (_, i) => ({ product_id: `P${1000 + i}`, app_ids }));
  const ask = pagesOf(t, { applications: [{ app_id: 'a', name: 'x' }], products });
  let turns = 0;
  const turn = (): NodeJS.Immediate => setImmediate(() => ((turns += 1), (next = turn())));
  let next = turn();
  const { entries, next: after } = await ask({ kind: 'product', limit: '450' });
  clearImmediate(next);
  assert.ok(turns >= 2, `${turns} turns`);
  const ids = products.map(({ product_id }) => product_id);
  assert.deepEqual(
    entries.map(({ product_id }: JsonObject) => product_id),
    ids.slice(0, 450),
  );
  assert.equal(after, ids[449]);
  const rest = await ask({ kind: 'product', limit: '450', after });
  assert.equal(rest.entries.length, 50);
  assert.equal(rest.next, null);
});
