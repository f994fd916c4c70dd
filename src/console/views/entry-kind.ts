/** A kind of entry in the registry view, and common parts of kinds. */
import type { Action, Disclosure, Field, Values } from '../actions.ts';
import type { Client } from '../client.ts';
import { el } from '../dom.ts';
import type { Column } from '../lists.ts';
import { moment } from '../page.ts';

export type Entry = Readonly<Record<string, unknown>>;

export interface Kind {
  readonly title: string;
  readonly meaning: string;
  /** Null: read from another path, in one request. */
  readonly kind: 'application' | 'product' | 'credential' | 'bridge' | null;
  readonly columns: readonly Column<Entry>[];
  readonly add: (client: Client) => Action;
  readonly actions: (entry: Entry, client: Client) => Action[];
}

export const text = (entry: Entry, name: string): string => {
  const value = entry[name];
  return typeof value === 'string' ? value : '';
};

export const list = (entry: Entry, name: string): string[] => {
  const value = entry[name];
  return Array.isArray(value) ? value.map(String) : [];
};

export const time = (entry: Entry, name: string, none: string): Node | string => {
  const value = entry[name];
  return typeof value === 'number' ? moment(value * 1000) : none;
};

export const textColumn = (name: string, field: string): Column<Entry> => ({
  name,
  cell: (entry) => el('bdi', {}, text(entry, field)),
});

export const listColumn = (name: string, field: string): Column<Entry> => ({
  name,
  cell: (entry) => el('bdi', {}, list(entry, field).join(', ')),
  isWide: true,
});

export const appsField: Field = {
  name: 'app_ids',
  label: 'Applications',
  hint: 'ids, separated by commas',
};

/** `result`: a sentence, or made of the answer. */
export function change(
  client: Client,
  path: string,
  terms: Omit<Action, 'run'>,
  bodyOf: (values: Values) => object,
  result: string | ((answer: never) => string | Disclosure),
): Action {
  const run = async (values: Values): Promise<string | Disclosure> => {
    const answer = await client.change(path, bodyOf(values));
    return typeof result === 'string' ? result : result(answer as never);
  };
  return { ...terms, run };
}

export function removal(client: Client, kind: string, field: string, id: string): Action {
  const meaning = 'The entry is deleted, unless other entries refer to it.';
  const terms = { verb: 'Remove', object: `the ${kind} ${id}`, meaning, isDanger: true };
  return change(
    client,
    `/v1/${kind}/remove`,
    terms,
    () => ({ [field]: id }),
    `The ${kind} ${id} is removed.`,
  );
}
