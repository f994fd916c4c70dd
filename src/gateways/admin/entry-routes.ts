/**
 * Applications, products and webhooks, one entry at a time.
 * `POST /v1/<kind>/add` accepts an entry in the form of a registry file, and `replace`; `POST /v1/<kind>/remove` accepts its id,
 * and refuses while other entries refer to it.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  changeRoute,
  missingEntry,
  refuse,
  refuseEntry,
  type AdminAnswer,
  type AdminRefusal,
  type AdminRoute,
} from '../ops/admin-route.ts';
import {
  addEntry,
  removeWebhook,
  type EntryUsers,
  type MissingEntry,
  type TakenEntry,
  type UsedEntry,
  type UsedKind,
} from '../../storage/registry/entry-changes.ts';
import { maskUrl, severalNamed } from '../../model/registry.ts';
import type { EntryRules } from '../../storage/registry/entry-reader.ts';
import { parseEntry, writeEntry } from '../../storage/registry/registry-entry.ts';
import { maskSecrets } from '../../storage/registry/registry-export.ts';
import { listNames, shownId } from '../../storage/registry/registry-kinds.ts';
import type { RegistryWriter } from '../../storage/registry/registry-write.ts';

export interface EntryChangeDeps {
  readonly writer: Pick<RegistryWriter, 'transact' | 'removeUnused'>;
  readonly rules: EntryRules;
  /** Called after every change: webhooks may have been added or removed, calls may have lost their permission. */
  changedEntry(): void;
}

/** The fields are checked like those of a file. */
const entryBody = z.looseObject({ replace: z.boolean().default(false) });
const webhookNameBody = z.strictObject({ url: z.string(), app_id: z.string().nullable().default(null) });

export function entryRoutes(deps: EntryChangeDeps): AdminRoute[] {
  return [
    changeRoute('/v1/application/add', entryBody, (body) => add(deps, 'application', body)),
    changeRoute('/v1/application/remove', z.strictObject({ app_id: z.string().min(1) }), ({ app_id: id }) =>
      removeUsed(deps, 'application', id),
    ),
    changeRoute('/v1/product/add', entryBody, (body) => add(deps, 'product', body)),
    changeRoute(
      '/v1/product/remove',
      z.strictObject({ product_id: z.string().min(1) }),
      ({ product_id: id }) => removeUsed(deps, 'product', id),
    ),
    changeRoute('/v1/webhook/add', entryBody, (body) =>
      add(deps, 'webhook', body, { secret: generateWebhookSecret() }),
    ),
    changeRoute('/v1/webhook/remove', webhookNameBody, (body) => removeOneWebhook(deps, body)),
  ];
}

const webhookSecretBytes = 32;

function generateWebhookSecret(): string {
  return `whsec_${randomBytes(webhookSecretBytes).toString('base64')}`;
}

/** `made`: generated values for absent fields, which only this answer contains. */
async function add(
  deps: EntryChangeDeps,
  kind: UsedKind | 'webhook',
  { replace, ...asked }: z.output<typeof entryBody>,
  made: Readonly<Record<string, string>> = {},
): Promise<AdminAnswer> {
  const isMade = Object.keys(made).some((field) => asked[field] === undefined);
  const entry = parseEntry(kind, { ...made, ...asked }, deps.rules);
  if (!entry.ok) return refuseEntry(entry.error);
  const added = await deps.writer.transact((tables) => addEntry(tables, kind, entry.value, { replace }));
  if (!added.ok) return refuseAddition(added.error);
  deps.changedEntry();
  const json = maskSecrets(writeEntry(kind, added.value));
  return { [kind]: isMade ? { ...json, ...made } : json };
}

async function removeUsed(deps: EntryChangeDeps, kind: UsedKind, id: string): Promise<AdminAnswer> {
  const removed = await deps.writer.removeUnused(kind, id);
  if (!removed.ok) return 'users' in removed.error ? refuseUsed(removed.error) : missingEntry(removed.error);
  deps.changedEntry();
  return { removed: id };
}

async function removeOneWebhook(
  deps: EntryChangeDeps,
  { url, app_id: appId }: z.output<typeof webhookNameBody>,
): Promise<AdminAnswer> {
  const removed = await deps.writer.transact((tables) => removeWebhook(tables, url, appId));
  if (!removed.ok)
    return removed.error === 'several'
      ? refuse(409, severalNamed(maskUrl(url)))
      : missingEntry(removed.error);
  deps.changedEntry();
  return { removed: maskUrl(url), app_id: removed.value.appId };
}

function refuseAddition(refused: MissingEntry | TakenEntry): AdminRefusal {
  if (!('isTaken' in refused)) return missingEntry(refused);
  const id = JSON.stringify(shownId(refused.id));
  return refuse(409, `${refused.kind} ${id} is in the registry already: replace it with --replace`);
}

function refuseUsed({ kind, id, users }: UsedEntry): AdminRefusal {
  const all = users.map(describeUsers).join(', ');
  return refuse(409, `${kind} ${JSON.stringify(id)} is in use by ${all}: remove those first`);
}

/** `3000 devices (A, B, C, …)`. */
function describeUsers({ kind, count, ids }: EntryUsers): string {
  const shown = ids.map(shownId);
  const names = count > ids.length ? [...shown, '…'] : shown;
  return `${count} ${count === 1 ? kind : listNames[kind]} (${names.join(', ')})`;
}
