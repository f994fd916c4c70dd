/** The settings as a list, read from the schema once: the name of each, the variable that sets it, its description. */
import type { z } from 'zod';
import { assert } from '../../lib/assert.ts';
import { settingsSchema, type Settings } from './settings-schema.ts';
import { settingNotes } from './settings-values.ts';

export interface SettingKey {
  readonly section: string;
  readonly key: string;
  /** `section.key`, as in problems and after `--set`. */
  readonly name: string;
  /** `REVEILLE_SECTION_KEY`. */
  readonly variable: string;
  readonly description: string;
  /** Never shown. */
  readonly isSecret: boolean;
  readonly schema: z.core.$ZodType;
}

export const variablePrefix = 'REVEILLE_';

const sections = Object.entries(settingsSchema.def.innerType.shape);

export const sectionNames: readonly string[] = sections.map(([section]) => section);

export const settingKeys: readonly SettingKey[] = sections.flatMap(([section, { def }]) =>
  Object.entries(def.innerType.shape).map(([key, schema]) => {
    const note = settingNotes.get(schema);
    assert(note !== undefined, 'every setting has a note');
    return {
      section,
      key,
      name: `${section}.${key}`,
      variable: `${variablePrefix}${section}_${key}`.toUpperCase(),
      description: note.description,
      isSecret: note.secret === true,
      schema,
    };
  }),
);

/** The settings in the form of a file, secrets masked, for `reveille config`. */
export function describeSettings(settings: Settings): Record<string, Record<string, unknown>> {
  const shown = settingsSchema.encode(settings) as Record<string, Record<string, unknown>>;
  for (const { section, key, isSecret } of settingKeys) {
    const values = shown[section];
    assert(values !== undefined, 'every section is shown');
    values[key] = isSecret ? mask(values[key]) : maskUserInfo(values[key]);
  }
  return shown;
}

const masked = '***';

function mask(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(() => masked);
  return value === null ? null : masked;
}

/** A URL may carry a user and a password before its host, and there may be several. */
export function maskUserInfo(value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll(/(\b\w+:\/\/)[^/]*@/g, `$1${masked}@`) : value;
}
