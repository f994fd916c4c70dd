/**
 * Settings by name, from the schema, and their values, loaded at the start: file, overridden by environment, overridden by flags, then
 * validated. All problems are reported together, each with the name under which the value was given.
 * Source: running.md, Settings.
 */
import { resolve } from 'node:path';
import type { z } from 'zod';
import { settingsSchema, type Settings } from './settings-schema.ts';
import { readText, settingNotes } from '../../model/settings-values.ts';
import { assert } from '../../lib/assert.ts';
import { readTextFile } from '../../lib/text-file.ts';
import { replaceUserInfo } from '../../lib/showable-text.ts';
import { isJsonObject } from '../../lib/utf8.ts';

export type SettingKey = Readonly<(typeof settingKeys)[number]>;

export const variablePrefix = 'REVEILLE_';

const sections = Object.entries(settingsSchema.def.innerType.shape);

export const sectionNames: readonly string[] = sections.map(([section]) => section);

export const settingKeys = sections.flatMap(([section, { def }]) =>
  Object.entries<z.core.$ZodType>(def.innerType.shape).map(([key, schema]) => {
    const note = settingNotes.get(schema);
    assert(note !== undefined, 'every setting has a note');
    return {
      section,
      key,
      // As in problems and after `--set`.
      name: `${section}.${key}`,
      // `REVEILLE_SECTION_KEY`.
      variable: `${variablePrefix}${section}_${key}`.toUpperCase(),
      description: note.description,
      // Never shown.
      isSecret: note.secret === true,
      schema,
    };
  }),
);

type SettingValues = Record<string, Record<string, unknown>>;

/** In the form of a settings file, with secrets. */
export function encodeSettings(settings: Settings): SettingValues {
  return settingsSchema.encode(settings);
}

/** Masks secrets, and passwords in URLs. */
export function maskSetting({ isSecret }: SettingKey, value: unknown): unknown {
  return isSecret ? mask(value) : maskUserInfo(value);
}

const masked = '***';

function mask(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(() => masked);
  return value === null ? null : masked;
}

/** Masks a token, or user and password, before the host of each URL. */
export function maskUserInfo(value: unknown): unknown {
  return typeof value === 'string' ? replaceUserInfo(value, `${masked}@`) : value;
}

/** Invalid settings: each problem is one line that names its setting. The process exits with 2. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

export interface SettingsSources {
  /** Path of a JSON file; absent: none. */
  readonly file?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `section.key=value` each; the last of a key applies. */
  readonly overrides?: readonly string[];
}

export type SettingOrigin = 'default' | 'file' | 'environment' | 'flag';

/** Settings, and their sources. */
export interface ConfiguredSettings {
  readonly settings: Settings;
  readonly sources: SettingsSources;
  /** Absolute path of the settings file; null: none. */
  readonly file: string | null;
  /** By `section.key`; absent: its default. */
  readonly origins: ReadonlyMap<string, SettingOrigin>;
}

interface Given {
  readonly value: unknown;
  readonly source: SettingOrigin;
  /** Place of the value, for problems. */
  readonly origin: string;
}

/** Throws a SettingsError with all problems. */
export function loadSettings(sources: SettingsSources): Settings {
  return loadConfigured(sources).settings;
}

/** Throws like `loadSettings`. */
export function loadConfigured(sources: SettingsSources): ConfiguredSettings {
  const sheet = new SettingsSheet();
  if (sources.file !== undefined) sheet.readFile(sources.file);
  sheet.readEnvironment(sources.env);
  sheet.readOverrides(sources.overrides ?? []);
  const file = sources.file === undefined ? null : resolve(sources.file);
  return { settings: sheet.validate(), sources, file, origins: sheet.origins };
}

/** Variables of the command line; not settings. */
const commandVariables: ReadonlySet<string> = new Set([
  'REVEILLE_PROFILE',
  'REVEILLE_ACCESS_KEY_ID',
  'REVEILLE_SECRET_KEY',
  'REVEILLE_APP_ID',
]);

const byName = new Map(settingKeys.map((setting) => [setting.name, setting]));
const byVariable = new Map(settingKeys.map((setting) => [setting.variable, setting]));

/** Values read so far, and their problems. */
class SettingsSheet {
  readonly #given = new Map<string, Given>();
  readonly #problems: string[] = [];

  get origins(): ConfiguredSettings['origins'] {
    return new Map([...this.#given].map(([name, { source }]) => [name, source]));
  }

  readFile(path: string): void {
    const sections = this.#parse(path);
    for (const [section, values] of Object.entries(sections ?? {})) {
      if (!sectionNames.includes(section)) this.#unknown(`${path}: ${section}`, section, sectionNames);
      else if (!isJsonObject(values))
        this.#problems.push(`${path}: ${section}: expected an object of settings`);
      else this.#readSection(path, section, values);
    }
  }

  readEnvironment(env: SettingsSources['env']): void {
    const links: string[] = [];
    for (const [variable, text] of Object.entries(env)) {
      if (!variable.startsWith(variablePrefix) || text === undefined || commandVariables.has(variable))
        continue;
      const setting = byVariable.get(variable);
      if (linkValue.test(text) || (setting === undefined && linkName.test(variable))) links.push(variable);
      else if (setting === undefined) this.#unknown(variable, variable, [...byVariable.keys()]);
      else this.#setText(setting, text, 'environment', `${variable} (${setting.name})`);
    }
    if (links.length === 0) return;
    const names = links.join(', ');
    this.#problems.push(
      `${names}: no settings; Kubernetes makes them of a Service whose name begins with reveille: set enableServiceLinks: false in the pod, or rename the Service`,
    );
  }

  readOverrides(overrides: readonly string[]): void {
    for (const override of overrides) {
      const [, name = override, text] = /^([^=]*)=(.*)$/s.exec(override) ?? [];
      const setting = byName.get(name);
      if (setting === undefined) this.#unknown(`--set ${name}`, name, [...byName.keys()]);
      else if (text === undefined) this.#problems.push(`--set ${name}: expected ${name}=value`);
      else this.#setText(setting, text, 'flag', `--set ${name}`);
    }
  }

  validate(): Settings {
    const sections: Record<string, Record<string, unknown>> = {};
    for (const name of sectionNames) sections[name] = {};
    for (const { name, section, key } of settingKeys)
      Object.assign(sections[section] ?? {}, { [key]: this.#given.get(name)?.value });
    const checked = settingsSchema.safeParse(sections, { jitless: true });
    for (const issue of checked.error?.issues ?? []) this.#refuse(issue);
    if (checked.success && this.#problems.length === 0) return checked.data;
    throw new SettingsError([...new Set(this.#problems)]);
  }

  #parse(path: string): Record<string, unknown> | null {
    try {
      const parsed: unknown = JSON.parse(readTextFile(path));
      if (isJsonObject(parsed)) return parsed;
      this.#problems.push(`${path}: expected an object of sections`);
    } catch (error) {
      this.#problems.push(`${path}: expected a file of JSON: ${withoutExcerpt(String(error))}`);
    }
    return null;
  }

  #readSection(path: string, section: string, values: Record<string, unknown>): void {
    for (const [key, value] of Object.entries(values)) {
      const name = `${section}.${key}`;
      const origin = `${path}: ${name}`;
      if (byName.has(name)) this.#given.set(name, { value, source: 'file', origin });
      else this.#unknown(origin, name, [...byName.keys()]);
    }
  }

  #setText({ name, schema }: SettingKey, text: string, source: SettingOrigin, origin: string): void {
    this.#given.set(name, { value: readText(schema, text), source, origin });
  }

  #unknown(origin: string, given: string, known: readonly string[]): void {
    this.#problems.push(`${origin}: no such setting; the closest is ${closestWord(given, known)}`);
  }

  #refuse({ path, message }: z.core.$ZodIssue): void {
    const name = path.slice(0, 2).join('.');
    const setting = byName.get(name);
    const { value, origin } = this.#given.get(name) ?? { value: null, origin: name };
    const got = setting?.isSecret === true ? 'something else' : JSON.stringify(maskUserInfo(value));
    this.#problems.push(`${origin}: expected ${message}; got ${got}`);
  }
}

/** Kubernetes sets such variables for every Service: for one named `reveille`, REVEILLE_PORT=tcp://10.0.0.1:8080. */
const linkName = /_SERVICE_(?:HOST$|PORT$|PORT_)|_PORT_\d{1,5}_(?:TCP|UDP|SCTP)/;
const linkValue = /^(?:tcp|udp|sctp):\/\//;

/** Removes the excerpt that a parser quotes, which may contain a secret. */
function withoutExcerpt(message: string): string {
  return message.replace(/,? (?:\.\.\.)?".*$/s, '');
}

/** The word with the smallest edit distance; the first of equal ones. `words`: not empty. */
function closestWord(given: string, words: readonly string[]): string {
  let closest = '';
  let fewest = Infinity;
  for (const word of words) {
    const edits = editDistance(given.toLowerCase(), word.toLowerCase());
    if (edits >= fewest) continue;
    fewest = edits;
    closest = word;
  }
  return closest;
}

/** Levenshtein distance, computed row by row. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 0; line < from.length; line++) {
    const next = [line + 1];
    for (let column = 0; column < to.length; column++) {
      const changed = (row[column] ?? 0) + (to[column] === from[line] ? 0 : 1);
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
