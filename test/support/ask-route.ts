/** Calls a route of the ops listener directly, as its listener does after authentication. */
import assert from 'node:assert/strict';
import { AdminRefusal, type AdminAnswer, type AdminRoute } from '../../src/gateways/ops/admin-route.ts';

export interface RouteReply {
  readonly status: number;
  readonly body: unknown;
}

export interface RouteCaller {
  readonly operator: string;
  readonly gone: AbortSignal;
}

const alice: RouteCaller = { operator: 'alice', gone: new AbortController().signal };

/** `asked`: a string is the query, anything else the body. */
export async function askRoute(
  routes: readonly AdminRoute[],
  method: AdminRoute['method'],
  path: string,
  asked: unknown = '',
  caller = alice,
): Promise<RouteReply> {
  const route = routes.find((each) => each.method === method && each.path === path);
  assert.ok(route !== undefined, `there is a route ${method} ${path}`);
  const isQuery = typeof asked === 'string';
  const query = new URLSearchParams(isQuery ? asked : '');
  return replyOf(await route.handle({ query, body: isQuery ? undefined : asked, ...caller }));
}

function replyOf(answer: AdminAnswer): RouteReply {
  if (!(answer instanceof AdminRefusal)) return { status: 200, body: answer };
  return { status: answer.status, body: { error: answer.error } };
}
