/**
 * Checks of single fields in messages between an edge and its core, by hand, because an edge loads no schema library.
 */
import { productSleepServersMax } from '../../model/limits.ts';
import {
  edgeTallyCountMax,
  sleepEndReasons,
  sleepRefusals,
  type CustomData,
  type SleepEndReason,
  type SleepRefusal,
  type WakeMode,
  type WakeWriteResult,
} from '../../model/sleep.ts';
import type { LogLevel } from '../../lib/link/link-log.ts';
import type { ListenAddress } from '../../lib/connections/listen-address.ts';

/** Results that an edge can report; only the core knows that an edge is unreachable. */
export type EdgeWakeResult = Exclude<WakeWriteResult, 'unreachable'>;

export const sentenceCharactersMax = 1024;

export function isUint32(value: unknown): value is number {
  return typeof value === 'number' && value >>> 0 === value;
}

export function isCount(value: unknown): value is number {
  return isUint32(value) && value < 2 ** 31;
}

export function isPort(value: unknown): value is number {
  return isUint32(value) && value <= 65_535;
}

export function isSecretMark(value: unknown): value is number {
  return typeof value === 'number' && (value | 0) === value;
}

export function isEpoch(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function isText(value: unknown, charactersMax: number): value is string {
  return typeof value === 'string' && value.length <= charactersMax;
}

export function isSentence(value: unknown): value is string {
  return isText(value, sentenceCharactersMax);
}

const nameForm = /^[\x21-\x7e]{1,128}$/;

/** Visible ASCII: safe to log unescaped. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && nameForm.test(value);
}

export function isAddress(value: unknown): value is ListenAddress {
  if (typeof value !== 'object' || value === null) return false;
  const { host, port } = value as { readonly host?: unknown; readonly port?: unknown };
  return isName(host) && isPort(port);
}

export function isAdvertised(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= productSleepServersMax && value.every(isName);
}

export function isCustomData(value: unknown): value is CustomData {
  return value === null || (Buffer.isBuffer(value) && value.length === 2);
}

function oneOf<Word extends string>(words: readonly Word[]): (value: unknown) => value is Word {
  const known = new Set<unknown>(words);
  return (value): value is Word => known.has(value);
}

export const isEndReason = oneOf<SleepEndReason>(sleepEndReasons);
export const isLoginResult = oneOf<'accepted' | SleepRefusal>(['accepted', ...sleepRefusals]);
export const isWakeMode = oneOf<WakeMode>(['fixed', 'custom', 'none']);
export const isWakeResult = oneOf<EdgeWakeResult>(['written', 'refused', 'unknown', 'busy']);
export const isRefusal = oneOf<'denied' | 'busy'>(['denied', 'busy']);
export const isLogLevel = oneOf<LogLevel>(['debug', 'info', 'warn', 'error']);

export interface Field<Value> {
  /** Undefined: invalid. */
  readonly read: (value: unknown) => Value | undefined;
  /** Absent: the value is sent unchanged. */
  readonly write?: (value: Value) => unknown;
}

export function checked<Value>(isValue: (value: unknown) => value is Value): Field<Value> {
  return { read: (value) => (isValue(value) ? value : undefined) };
}

export function parsed<Id extends string>(parse: (text: string) => Id | null): Field<Id> {
  return { read: (value) => (typeof value === 'string' ? (parse(value) ?? undefined) : undefined) };
}

export function listOf<Item>(max: number, isItem: (value: unknown) => value is Item): Field<readonly Item[]> {
  return checked(
    (value): value is readonly Item[] =>
      Array.isArray(value) && value.length <= max && value.every((item) => isItem(item)),
  );
}

export function sums<Label>(labels: number, isLabel: (value: unknown) => value is Label) {
  return listOf(
    labels,
    (item): item is readonly [Label, number] =>
      Array.isArray(item) &&
      item.length === 2 &&
      isLabel(item[0]) &&
      isCount(item[1]) &&
      item[1] <= edgeTallyCountMax,
  );
}

export function textUpTo(charactersMax: number): Field<string> {
  return checked((value) => isText(value, charactersMax));
}

/** In wire order. */
export type NamedFields = readonly (readonly [name: string, field: Field<unknown>])[];

export function writeFields(fields: NamedFields, message: object): unknown[] {
  return fields.map(([name, { write }]) => {
    const value = (message as Readonly<Record<string, unknown>>)[name];
    return write === undefined ? value : write(value);
  });
}

export function readFields(
  message: Record<string, unknown>,
  fields: NamedFields,
  given: readonly unknown[],
): Record<string, unknown> | null {
  if (given.length !== fields.length) return null;
  for (const [at, [name, { read }]] of fields.entries()) {
    const value = read(given[at]);
    if (value === undefined) return null;
    message[name] = value;
  }
  return message;
}
