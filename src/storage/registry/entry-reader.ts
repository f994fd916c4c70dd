/**
 * Reads the fields of one registry entry in order and keeps the first error, with the field's name and a reason that quotes no value:
 * it may be a secret. Written by hand because a million devices pass through it; a wrong field yields a placeholder, and the entry is
 * not used.
 */
import { utf8Length } from '../../lib/utf8.ts';
import { isShortSecret, labelsFault, labelsOf, secondsFault } from '../../model/device-terms.ts';
import type { JsonObject } from '../../model/json.ts';
import type { ProductDefaults } from '../../model/product-defaults.ts';
import { secretBytesMax, secretCharactersMin } from '../../model/provisioning-limits.ts';
import { isMaskedUrl, maskedSecret, type Labels } from '../../model/registry.ts';
import { registryListItemsMax } from '../lmdb/store-limits.ts';
import { parseProductDefaults } from './product-defaults.ts';

export interface FieldError {
  readonly field: string;
  readonly reason: string;
}

/** Rules beyond the form of the fields. */
export interface EntryRules {
  readonly allowShortSecrets: boolean;
}

const shortSecret =
  `is shorter than ${secretCharactersMin} characters and can be guessed: ` +
  'use a longer one, or allow it with registry.allow_short_secrets';

const isMasked = 'is masked: export with --with-secrets';

export class EntryReader {
  readonly #entry: JsonObject;
  readonly #rules: EntryRules;
  #error: FieldError | null = null;

  /** `keys`: fields that the entry may have, besides `kind`. */
  constructor(
    entry: JsonObject,
    kind: string,
    keys: ReadonlySet<string>,
    rules: EntryRules = { allowShortSecrets: false },
  ) {
    this.#entry = entry;
    this.#rules = rules;
    for (const key in entry) {
      if (keys.has(key) || (key === 'kind' && entry[key] === kind)) continue;
      this.#refuse(key, `is not a field of a ${kind}`);
      return;
    }
  }

  get error(): FieldError | null {
    return this.#error;
  }

  has(field: string): boolean {
    return Object.hasOwn(this.#entry, field);
  }

  /** Rejects a masked URL: a webhook's URL may contain credentials. */
  url(field: string, parse: (text: string) => string | null, form: string): string {
    const url = this.id(field, parse, form);
    if (isMaskedUrl(url)) this.#refuse(field, isMasked);
    return url;
  }

  /** `parse` returns null for an invalid id; `form` describes a valid one. */
  id<Id extends string>(field: string, parse: (text: string) => Id | null, form: string): Id {
    const value = this.#text(field);
    const id = value === null ? null : parse(value);
    if (id === null && value !== null) this.#refuse(field, `must be ${form}`);
    return id ?? ('' as Id);
  }

  text(field: string, bytesMax: number): string {
    const value = this.#text(field);
    if (value === null) return '';
    const bytes = utf8Length(value);
    if (bytes < 1 || bytes > bytesMax) this.#refuse(field, `must be 1-${bytesMax} bytes of UTF-8`);
    return value;
  }

  /** `prefix`: optional prefix that is not part of the secret and does not count towards its length. */
  secret(field: string, prefix = ''): string {
    const value = this.text(field, secretBytesMax);
    if (value === maskedSecret) this.#refuse(field, isMasked);
    const itself = value.startsWith(prefix) ? value.slice(prefix.length) : value;
    if (!this.#rules.allowShortSecrets && isShortSecret(itself)) this.#refuse(field, shortSecret);
    return value;
  }

  /** Unix seconds; null or absent: unbounded. */
  seconds(field: string): number | null {
    const value = this.#entry[field] ?? null;
    if (value === null) return null;
    const fault = secondsFault(value);
    if (fault === null) return Number(value);
    return (this.#refuse(field, fault), null);
  }

  flag(field: string): boolean {
    const value = this.#entry[field] ?? false;
    if (typeof value !== 'boolean') this.#refuse(field, 'must be true or false');
    return value === true;
  }

  /** `parse` returns null for an invalid item; `form` describes valid ones. */
  list<Item extends string>(
    field: string,
    parse: (text: string) => Item | null,
    form: string,
  ): readonly Item[] {
    const value = this.#entry[field];
    if (!Array.isArray(value))
      return (this.#refuse(field, value === undefined ? 'is missing' : 'must be a list'), []);
    if (value.length > registryListItemsMax)
      this.#refuse(field, `must be at most ${registryListItemsMax} items`);
    const items: Item[] = [];
    for (const text of value as unknown[]) {
      const item = typeof text === 'string' ? parse(text) : null;
      if (item === null) return (this.#refuse(field, `must hold only ${form}`), []);
      items.push(item);
    }
    return items;
  }

  /** Default, and for null: no defaults. */
  defaults(field: string): ProductDefaults | undefined {
    const defaults = parseProductDefaults(this.#entry[field] ?? {});
    if (defaults.ok) return defaults.value ?? undefined;
    return (this.#refuse([field, ...defaults.error.path].join('.'), defaults.error.reason), undefined);
  }

  /** Default, and for null: no labels. */
  labels(field: string): Labels | undefined {
    const value = this.#entry[field] ?? {};
    const fault = labelsFault(value);
    if (fault !== null) return (this.#refuse(field, fault), undefined);
    return labelsOf(Object.entries(value as Labels));
  }

  #text(field: string): string | null {
    const value = this.#entry[field];
    if (typeof value === 'string') return value;
    return (this.#refuse(field, value === undefined ? 'is missing' : 'must be a string'), null);
  }

  #refuse(field: string, reason: string): void {
    this.#error ??= { field, reason };
  }
}
