/** Reads the registry for operators, secrets masked: the number of entries of each kind, a page of one kind, one entry. */
import { z } from 'zod';
import { nextTurn } from '../../lib/clock.ts';
import type { JsonObject } from '../../model/json.ts';
import { findNamed } from '../../model/registry.ts';
import { writeEntry } from '../../storage/registry/registry-entry.ts';
import { maskSecrets } from '../../storage/registry/registry-export.ts';
import { idOf, kindNames, type EntryOf, type KindName } from '../../storage/registry/registry-kinds.ts';
import type { RegistryStore } from '../../storage/registry/registry-store.ts';
import { missingEntry, readRoute, type AdminRoute } from '../ops/admin-route.ts';

export const registryPageMax = 10_000;

export interface RegistryPage {
  readonly entries: readonly JsonObject[];
  /** The `after` of the next page; null: this was the last. */
  readonly next: string | null;
}

const kind = z.enum(kindNames);
/** `after`: the id of the last entry seen; for webhooks a count, since their ids are masked. */
const listQuery = z
  .strictObject({
    kind,
    limit: z.coerce.number().int().min(1).max(registryPageMax).default(100),
    after: z.string().min(1).optional(),
  })
  .refine(
    ({ kind, after }) => kind !== 'webhook' || after === undefined || /^\d{1,9}$/.test(after),
    'after: the value of next in the previous page',
  );
/** The id of a webhook: application, space, URL. */
const entryQuery = z.strictObject({ kind, id: z.string().min(1) });

export function registryListRoutes(registry: RegistryStore): AdminRoute[] {
  return [
    readRoute('/v1/registry/counts', z.strictObject({}), async () => registry.counts()),
    readRoute('/v1/registry/list', listQuery, (query) => readPage(registry, query)),
    readRoute('/v1/registry/entry', entryQuery, async ({ kind, id }) => {
      const entry = findEntry(registry, kind, id);
      if (entry === null) return missingEntry({ kind, id });
      return { entry: maskSecrets(writeEntry(kind, entry)) };
    }),
  ];
}

/** Entries per read, about a millisecond during which the event loop is blocked. */
const sliceEntries = 200;

async function readPage(
  registry: RegistryStore,
  { kind, limit, after }: z.output<typeof listQuery>,
): Promise<RegistryPage> {
  const isCounted = kind === 'webhook';
  const before = isCounted ? Number(after ?? 0) : 0;
  const wanted = before + limit;
  const entries: JsonObject[] = [];
  let last = isCounted ? undefined : after;
  let read = 0;
  while (read < wanted) {
    if (read > 0) await nextTurn();
    const asked = Math.min(sliceEntries, wanted - read);
    const slice = registry.page(kind, asked, last);
    const shown = slice.slice(Math.max(0, before - read));
    entries.push(...shown.map((entry) => maskSecrets(writeEntry(kind, entry))));
    read += slice.length;
    const end = slice.at(-1);
    if (end === undefined || slice.length < asked) return { entries, next: null };
    last = idOf(kind, end);
  }
  return { entries, next: isCounted ? String(read) : (last ?? null) };
}

/** The URL of a webhook may be masked. */
function findEntry(registry: RegistryStore, kind: KindName, id: string): EntryOf[KindName] | null {
  if (kind !== 'webhook') return registry.find(kind, id);
  // An application's name may contain spaces, a URL cannot.
  const urlStart = id.lastIndexOf(' ') + 1;
  const [appId, url] = [id.slice(0, urlStart - 1), id.slice(urlStart)];
  const [webhook, other] = findNamed(registry.page(kind, registryPageMax), url, appId);
  return other === undefined ? (webhook ?? null) : null;
}
