/**
 * A registry file as text: which of its two forms it has, and the entries in it one by one, not yet looked into.
 * The form is told by the first key, not by the name alone: a document starts with the name of a list, NDJSON
 * with a field of an entry; the name decides what neither tells. Source: running.md, Data.
 */
import { isUtf8 } from 'node:buffer';
import type { ByteWindow } from '../events/byte-window.ts';
import type { JsonObject } from './entry-reader.ts';
import { findKindOfList, type KindName } from './registry-kinds.ts';

/** One entry, or why the text cannot be read on; nothing follows that. */
export type RegistryItem =
  | { readonly ok: true; readonly where: Place; readonly kind: KindName; readonly json: JsonObject }
  | { readonly ok: false; readonly where: string; readonly reason: string };

/** Where an entry stands: its line, or its list and its place in it. */
export interface Place {
  readonly list: string | null;
  /** From 1 for lines, from 0 in lists. */
  readonly number: number;
}

export function describePlace({ list, number }: Place): string {
  return list === null ? `line ${number}` : `${list}[${number}]`;
}

export type RegistryForm = 'document' | 'ndjson';

/** The form of the file, or why it has none. Leaves the window before the first byte that is no space. */
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
  return /\.(ndjson|jsonl)$/i.test(path) || (firstKey !== undefined && entryKeys.has(firstKey))
    ? 'ndjson'
    : 'document';
}

const headBytes = 1024;
const braceOpen = 0x7b;
/** Any field an entry may start with. */
const entryKeys: ReadonlySet<string> = new Set(
  (
    'kind app_id name access_key_id secret_key permissions not_before not_after revoked product_id app_ids ' +
    'device_id secret expires_at disabled url types bridge_id key_sha256'
  ).split(' '),
);

/** The next byte that is no space, not passed; -1 at the end. */
export function peek(window: ByteWindow): number {
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

/** The object that `bytes` are, or why they are none. */
export function parseObject(bytes: Buffer): JsonObject | string {
  if (!isUtf8(bytes)) return 'is not valid UTF-8';
  try {
    const json: unknown = JSON.parse(bytes.toString());
    const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
    return isObject ? (json as JsonObject) : 'is not a JSON object';
  } catch {
    // The parser's own message quotes the text, and the text holds secrets.
    return 'is not valid JSON';
  }
}
