/** The one table of routes. One trailing slash on a path is the same route. Source: decisions.md, HTTP. */
import { assert } from '../../lib/assert.ts';
import type { Route } from './route.ts';

export class RouteTable {
  readonly #byPath = new Map<string, readonly Route[]>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const others = this.#byPath.get(route.path) ?? [];
      assert(
        !others.some(({ method }) => method === route.method),
        `one route for ${route.method} ${route.path}`,
      );
      this.#byPath.set(route.path, [...others, route]);
    }
  }

  /** Every route of the path, whatever its method; null when there is none. */
  find(path: string): readonly Route[] | null {
    const exact = this.#byPath.get(path);
    if (exact !== undefined) return exact;
    if (path.length < 2 || !path.endsWith('/')) return null;
    return this.#byPath.get(path.slice(0, -1)) ?? null;
  }
}
