/**
 * The registry as operators read it, secrets masked: how many entries there are of each kind, a page of one kind, one entry.
 * The answers are the same of a store at rest.
 */
import { z } from 'zod';
import { nextTurn } from '../../lib/clock.ts';
import type { JsonObject } from '../../model/json.ts';
import { writeEntry } from '../../storage/registry/registry-entry.ts';
import { maskSecrets } from '../../storage/registry/registry-export.ts';
import { idOf, kindNames, shownId, type KindName } from '../../storage/registry/registry-kinds.ts';
import type { RegistryStore } from '../../storage/registry/registry-store.ts';
import { missingEntry, readRoute, type AdminRoute } from '../ops/admin-route.ts';

export const registryPageMax = 10_000;

export interface RegistryPage {
  readonly entries: readonly JsonObject[];
  /** The `after` of the next page; null when this was the last one. */
  readonly next: string | null;
}

const kind = z.enum(kindNames);
/** A webhook's id is application and url, separated by a line feed in the store and by a space elsewhere. */
const listQuery = z.strictObject({
  kind,
  limit: z.coerce.number().int().min(1).max(registryPageMax).default(100),
  after: z.string().min(1).optional(),
});
const entryQuery = z.strictObject({ kind, id: z.string().min(1) });

export function registryListRoutes(registry: RegistryStore): AdminRoute[] {
  return [
    readRoute('/v1/registry/counts', z.strictObject({}), async () => {
      return { status: 200, body: registry.counts() };
    }),
    readRoute('/v1/registry/list', listQuery, async (query) => {
      return { status: 200, body: await readPage(registry, query) };
    }),
    readRoute('/v1/registry/entry', entryQuery, async ({ kind, id }) => {
      const entry = registry.find(kind, storedId(kind, id));
      if (entry === null) return missingEntry({ kind, id });
      return { status: 200, body: { entry: maskSecrets(writeEntry(kind, entry)) } };
    }),
  ];
}

/** Read at once: about a millisecond, in which nobody else is served. */
const sliceEntries = 200;

async function readPage(
  registry: RegistryStore,
  { kind, limit, after }: z.output<typeof listQuery>,
): Promise<RegistryPage> {
  const entries: JsonObject[] = [];
  let last = after === undefined ? undefined : storedId(kind, after);
  while (entries.length < limit) {
    if (entries.length > 0) await nextTurn();
    const wanted = Math.min(sliceEntries, limit - entries.length);
    const slice = registry.page(kind, wanted, last);
    entries.push(...slice.map((entry) => maskSecrets(writeEntry(kind, entry))));
    const end = slice.at(-1);
    if (end === undefined || slice.length < wanted) return { entries, next: null };
    last = idOf(kind, end);
  }
  return { entries, next: last === undefined ? null : shownId(last) };
}

function storedId(kind: KindName, id: string): string {
  // The name of an application may have blanks, a URL has none.
  return kind === 'webhook' ? id.replace(/ (?=\S*$)/, '\n') : id;
}
