/**
 * Splits a registry file into entries without validating them; a file of a million devices is never in memory as a whole. The first
 * key determines the form: a document, `{"applications": […], …}`, starts with the name of a list, NDJSON with a field of an entry;
 * otherwise the file's name decides. In a document, only braces, brackets and strings are scanned. Source: running.md, Data.
 */
import { isUtf8 } from 'node:buffer';
import { isJsonObject } from '../../lib/utf8.ts';
import type { JsonObject } from '../../model/json.ts';
import type { ByteWindow } from '../events/byte-window.ts';
import { isFieldName } from './registry-entry.ts';
import { findKindOfList, type KindName, inferKind, isKindName } from './registry-kinds.ts';
import { registryEntryBytesMax } from '../lmdb/store-limits.ts';

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const bracketOpen = 0x5b;
const backslash = 0x5c;
const bracketClose = 0x5d;
const braceOpen = 0x7b;
const braceClose = 0x7d;
const lineFeed = 0x0a;

export type RegistryItem =
  | { readonly ok: true; readonly where: Place; readonly kind: KindName; readonly json: JsonObject }
  | { readonly ok: false; readonly where: string; readonly reason: string };

/** Position of an entry: its line, or its list and index. */
export interface Place {
  readonly list: string | null;
  /** Lines count from 1, items of a list from 0. */
  readonly number: number;
}

export function describePlace({ list, number }: Place): string {
  return list === null ? `line ${number}` : `${list}[${number}]`;
}

export type RegistryForm = 'document' | 'ndjson';

/** The form of the file, or the reason why it has none. Leaves the window at the first byte that is not whitespace. */
export function detectForm(window: ByteWindow, path: string): RegistryForm | { readonly reason: string } {
  window.more();
  const byteOrder = window.bytes.subarray(0, 3).toString('hex');
  if (byteOrder.startsWith('fffe') || byteOrder.startsWith('feff'))
    return { reason: 'is UTF-16: save it as UTF-8' };
  if (byteOrder === 'efbbbf') window.pass(3);
  const first = peek(window);
  if (first === -1) return { reason: 'is empty: an empty registry is written {}' };
  if (first !== braceOpen) return { reason: 'starts with neither a JSON object nor a line of NDJSON' };
  const head = window.bytes.subarray(0, headBytes).toString();
  const [, firstKey, closed] = /^\{\s*(?:"([a-z0-9_]*)"|(\}))/.exec(head) ?? [];
  if (closed !== undefined || (firstKey !== undefined && findKindOfList(firstKey) !== null))
    return 'document';
  return /\.(ndjson|jsonl)$/i.test(path) || (firstKey !== undefined && isFieldName(firstKey))
    ? 'ndjson'
    : 'document';
}

const headBytes = 1024;
/** The next byte that is not whitespace, not consumed; -1 at the end. */
function peek(window: ByteWindow): number {
  for (;;) {
    const bytes = window.bytes;
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i] ?? 0;
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue;
      window.pass(i);
      return byte;
    }
    window.pass(bytes.length);
    if (!window.more()) return -1;
  }
}

function parseObject(bytes: Buffer): JsonObject | string {
  if (!isUtf8(bytes)) return 'is not valid UTF-8';
  try {
    const json: unknown = JSON.parse(bytes.toString());
    return isJsonObject(json) ? json : 'is not a JSON object';
  } catch {
    // The parser's own message quotes the text, which may contain secrets.
    return 'is not valid JSON';
  }
}

type Failure = Extract<RegistryItem, { ok: false }>;

/** Call with the window at the first brace of the document. */
export function* readDocument(window: ByteWindow): Generator<RegistryItem, void, undefined> {
  window.pass(1);
  if (peek(window) === braceClose) window.pass(1);
  else {
    do {
      const list = readListName(window);
      if (typeof list !== 'string') return yield list;
      const kind = findKindOfList(list);
      if (kind === null)
        return yield malformed(window, `${JSON.stringify(list.slice(0, 64))} is not a list of a registry`);
      if ((yield* readList(window, kind, list)) === 'failed') return undefined;
    } while (consume(window, comma));
    if (!consume(window, braceClose)) return yield malformed(window, 'expected , or } after a list');
  }
  return peek(window) === -1 ? undefined : yield malformed(window, 'has something behind the document');
}

function readListName(window: ByteWindow): string | Failure {
  if (peek(window) !== quote) return malformed(window, 'expected the name of a list');
  const length = spanLength(window, stringEnd);
  if (length === null) return malformed(window, 'has a name that does not end');
  const name = window.bytes.toString('utf8', 1, length - 1);
  window.pass(length);
  if (!consume(window, colon)) return malformed(window, 'expected : after the name of a list');
  return name;
}

function* readList(
  window: ByteWindow,
  kind: KindName,
  list: string,
): Generator<RegistryItem, 'read' | 'failed', undefined> {
  if (!consume(window, bracketOpen)) return (yield malformed(window, `${list} must be a list`), 'failed');
  if (consume(window, bracketClose)) return 'read';
  let number = 0;
  do {
    const where = `${list}[${number}]`;
    if (peek(window) !== braceOpen)
      return (yield { ok: false, where, reason: 'is not a JSON object' }, 'failed');
    const length = spanLength(window, objectEnd);
    const tooLong = `does not end, or is longer than ${registryEntryBytesMax} bytes`;
    const json = length === null ? tooLong : parseObject(window.bytes.subarray(0, length));
    if (typeof json === 'string') return (yield { ok: false, where, reason: json }, 'failed');
    window.pass(length ?? 0);
    yield { ok: true, where: { list, number }, kind, json };
    number += 1;
  } while (consume(window, comma));
  return consume(window, bracketClose)
    ? 'read'
    : (yield malformed(window, `expected , or ] in ${list}`), 'failed');
}

/** Consumes whitespace and `byte`, if it comes next. */
function consume(window: ByteWindow, byte: number): boolean {
  if (peek(window) !== byte) return false;
  window.pass(1);
  return true;
}

/** Bytes from the window's start to the end that `findEnd` returns; null: too far, or there is none. */
function spanLength(window: ByteWindow, findEnd: (bytes: Buffer) => number): number | null {
  for (;;) {
    const end = findEnd(window.bytes);
    if (end > registryEntryBytesMax) return null;
    if (end !== -1) return end;
    if (window.bytes.length > registryEntryBytesMax || !window.more()) return null;
  }
}

/** Offset after the string that starts at 0; -1: incomplete. */
function stringEnd(bytes: Buffer): number {
  return skipString(bytes, 0);
}

function skipString(bytes: Buffer, start: number): number {
  for (let i = start + 1; i < bytes.length; i++) {
    if (bytes[i] === quote) return i + 1;
    if (bytes[i] === backslash) i += 1;
  }
  return -1;
}

/** Offset after the object that starts at 0; -1: incomplete. */
function objectEnd(bytes: Buffer): number {
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) {
      const end = skipString(bytes, i);
      if (end === -1) return -1;
      i = end - 1;
    } else if (byte === braceOpen) depth += 1;
    else if (byte === braceClose && --depth === 0) return i + 1;
  }
  return -1;
}

function malformed(window: ByteWindow, reason: string): Failure {
  return { ok: false, where: `byte ${window.passed}`, reason };
}

export function* readLines(window: ByteWindow): Generator<RegistryItem, void, undefined> {
  for (let number = 1; ; number++) {
    const length = lineLength(window);
    if (length === null) return;
    if (length > registryEntryBytesMax) {
      yield { ok: false, where: `line ${number}`, reason: `is longer than ${registryEntryBytesMax} bytes` };
      return;
    }
    const item = readLine(window.bytes.subarray(0, length), number);
    if (item !== null) yield item;
    if (item?.ok === false) return;
    window.pass(Math.min(length + 1, window.bytes.length));
  }
}

/** Bytes before the next line feed or the end of the file; null: no more lines. May stop at the limit. */
function lineLength(window: ByteWindow): number | null {
  for (let searched = 0; ;) {
    const bytes = window.bytes;
    const end = bytes.indexOf(lineFeed, searched);
    if (end !== -1) return end;
    searched = bytes.length;
    if (searched > registryEntryBytesMax) return searched;
    if (!window.more()) return searched === 0 ? null : searched;
  }
}

function readLine(line: Buffer, number: number): RegistryItem | null {
  const json = parseObject(line);
  if (typeof json === 'string')
    return isBlank(line) ? null : { ok: false, where: `line ${number}`, reason: json };
  const kind = Object.hasOwn(json, 'kind') ? json['kind'] : inferKind(json);
  if (isKindName(kind)) return { ok: true, where: { list: null, number }, kind, json };
  const reason =
    kind === null ? 'has no kind, and no id field that implies one' : 'kind: is not a kind of registry entry';
  return { ok: false, where: `line ${number}`, reason };
}

function isBlank(line: Buffer): boolean {
  return line.toString('latin1').trim() === '';
}
