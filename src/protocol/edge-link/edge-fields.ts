/** Checks of single fields in messages between an edge and its core. */
import { productSleepServersMax } from '../../model/limits.ts';
import {
  sleepEndReasons,
  sleepRefusals,
  type CustomData,
  type SleepEndReason,
  type SleepRefusal,
  type WakeMode,
} from '../../model/sleep.ts';
import type { LogLevel } from '../../lib/link/link-log.ts';
import type { EdgeAddress, EdgeWakeResult } from './edge-message.ts';

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

export function isText(value: unknown, charactersMax: number): value is string {
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

export function isAddress(value: unknown): value is EdgeAddress {
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
