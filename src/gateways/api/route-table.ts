/** The routes of the API by path. */
import { assert } from '../../lib/assert.ts';
import { canonicalPath } from '../../protocol/tgv1/signature.ts';
import type { Route } from './route.ts';

export class RouteTable {
  readonly #routes: ReadonlyMap<string, readonly Route[]>;

  constructor(routes: readonly Route[]) {
    this.#routes = routesByPath(routes);
  }

  /** Every route of the path as it was sent, whatever its method; null when there is none. */
  find(path: string): readonly Route[] | null {
    return this.#routes.get(canonicalPath(path)) ?? null;
  }
}

function routesByPath(routes: readonly Route[]): ReadonlyMap<string, readonly Route[]> {
  const byPath = new Map<string, readonly Route[]>();
  for (const route of routes) {
    const others = byPath.get(route.path) ?? [];
    assert(
      !others.some(({ method }) => method === route.method),
      `one route for ${route.method} ${route.path}`,
    );
    byPath.set(route.path, [...others, route]);
  }
  return byPath;
}
