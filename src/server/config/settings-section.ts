/** What a setting and a section of settings are made of. */
import { z } from 'zod';

export interface SettingNote {
  readonly description: string;
  /** Never shown. */
  readonly secret?: true;
}

export const settingNotes = z.registry<SettingNote>();

/** `fallback` is what stands in `config/default.json`. */
export function setting<Kind extends z.ZodType>(
  kind: Kind,
  fallback: z.input<Kind>,
  description: string,
  secret?: true,
) {
  const note: SettingNote = { description, ...(secret && { secret }) };
  const prefaulted = kind.prefault(fallback);
  settingNotes.add(prefaulted, note);
  return prefaulted;
}

/** Unknown keys are refused, values are frozen. */
export function section<Keys extends z.core.$ZodLooseShape>(keys: Keys) {
  return z.strictObject(keys, 'an object of settings').readonly();
}
