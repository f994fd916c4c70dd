/**
 * Encodes values as msgpack, and decodes untrusted bytes. Before the library builds any object, the bytes are checked: exactly
 * one value, no extensions (which create regular expressions and the like), no list longer than the bytes, and no nesting deeper
 * than messages need.
 */
import { Packr } from 'msgpackr';

const depthMax = 8;
const packr = new Packr({ useRecords: false });

/** Plain values only: no undefined, no classes except Buffer and Uint8Array. */
export function packPlain(value: object): Buffer {
  return packr.pack(value);
}

/** Undefined: the bytes are not one plain value. Binary parts of the value are Buffers that share memory with `bytes`. */
export function unpackPlain(bytes: Uint8Array): unknown {
  return isPlainMsgpack(bytes) ? unpackOwn(bytes) : undefined;
}

/** For trusted bytes only: skips the checks. */
export function unpackOwn(bytes: Uint8Array): unknown {
  try {
    return packr.unpack(bytes);
  } catch {
    return undefined;
  }
}

function isPlainMsgpack(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Number of values missing in each open list; the first entry is the value itself. */
  const due = [1];
  let at = 0;
  for (let left = due.at(-1); left !== undefined; left = due.at(-1)) {
    if (left === 0) {
      due.pop();
      continue;
    }
    due[due.length - 1] = left - 1;
    const head = at < bytes.length ? readHead(view, at) : null;
    if (head === null) return false;
    at = head.end;
    // Each value takes at least one byte.
    if (at > bytes.length || head.values > bytes.length - at) return false;
    if (head.values > 0) due.push(head.values);
    if (due.length > depthMax) return false;
  }
  return at === bytes.length;
}

interface Head {
  readonly end: number;
  readonly values: number;
}

/** Null: a type that no message uses. `end` may lie beyond the bytes. */
function readHead(view: DataView, at: number): Head | null {
  const type = view.getUint8(at);
  if (type <= 0x7f || type >= 0xe0) return { end: at + 1, values: 0 };
  if (type <= 0x8f) return { end: at + 1, values: (type & 0x0f) * 2 };
  if (type <= 0x9f) return { end: at + 1, values: type & 0x0f };
  if (type <= 0xbf) return { end: at + 1 + (type & 0x1f), values: 0 };
  const width = lengthWidths.get(type);
  if (width !== undefined) return readLong(view, at, type, width);
  const bytes = fixedBytes.get(type);
  return bytes === undefined ? null : { end: at + 1 + bytes, values: 0 };
}

/** Width of the length field of binary, text, lists and maps. */
const lengthWidths: ReadonlyMap<number, 1 | 2 | 4> = new Map([
  [0xc4, 1],
  [0xc5, 2],
  [0xc6, 4],
  [0xd9, 1],
  [0xda, 2],
  [0xdb, 4],
  [0xdc, 2],
  [0xdd, 4],
  [0xde, 2],
  [0xdf, 4],
]);

/** Payload bytes after the type byte of null, booleans and numbers; small numbers are a type byte alone. */
export const fixedBytes: ReadonlyMap<number, number> = new Map([
  [0xc0, 0],
  [0xc2, 0],
  [0xc3, 0],
  [0xca, 4],
  [0xcb, 8],
  [0xcc, 1],
  [0xcd, 2],
  [0xce, 4],
  [0xcf, 8],
  [0xd0, 1],
  [0xd1, 2],
  [0xd2, 4],
  [0xd3, 8],
]);

function readLong(view: DataView, at: number, type: number, width: 1 | 2 | 4): Head | null {
  const start = at + 1 + width;
  if (start > view.byteLength) return null;
  const length = readLength(view, at + 1, width);
  if (type < 0xdc) return { end: start + length, values: 0 };
  return { end: start, values: type < 0xde ? length : length * 2 };
}

function readLength(view: DataView, at: number, width: 1 | 2 | 4): number {
  if (width === 1) return view.getUint8(at);
  return width === 2 ? view.getUint16(at) : view.getUint32(at);
}
