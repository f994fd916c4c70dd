/** Asks one of the ops listener's routes as its listener would, once it has let the caller in. */
import assert from 'node:assert/strict';
import type { AdminReply, AdminRoute } from '../../src/gateways/ops/admin-route.ts';

/** `asked`: a text is the query, anything else the body. */
export async function askRoute(
  routes: readonly AdminRoute[],
  method: AdminRoute['method'],
  path: string,
  asked: unknown = '',
): Promise<AdminReply> {
  const route = routes.find((each) => each.method === method && each.path === path);
  assert.ok(route !== undefined, `there is a route ${method} ${path}`);
  const isQuery = typeof asked === 'string';
  return route.handle({
    query: new URLSearchParams(isQuery ? asked : ''),
    body: isQuery ? undefined : asked,
  });
}
