/**
 * Values as bytes of msgpack, and back, where the bytes may be a stranger's. Before the library builds anything they are
 * looked at: they are one value, with none of the extensions, by which regular expressions and the like are made, no
 * list that says it is longer than the bytes there are, and nothing nested deeper than messages are.
 */
import { Packr } from 'msgpackr';

/** Values within one another in any message. */
const depthMax = 8;
const packr = new Packr({ useRecords: false });

/** Of plain values: no undefined, no class but Buffer and Uint8Array. */
export function packPlain(value: object): Buffer {
  return packr.pack(value);
}

/** Undefined: it is no plain value. Bytes in the value are Buffers, and parts of `bytes`. */
export function unpackPlain(bytes: Uint8Array): unknown {
  return isPlainMsgpack(bytes) ? unpackOwn(bytes) : undefined;
}

/** The same of bytes that no stranger can have written. */
export function unpackOwn(bytes: Uint8Array): unknown {
  try {
    return packr.unpack(bytes);
  } catch {
    return undefined;
  }
}

function isPlainMsgpack(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Values that are still to come in each list that is open, and before it the one value itself. */
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
    // Each value takes a byte at least.
    if (at > bytes.length || head.values > bytes.length - at) return false;
    if (head.values > 0) due.push(head.values);
    if (due.length > depthMax) return false;
  }
  return at === bytes.length;
}

interface Head {
  /** Where it ends, with the bytes of a text. */
  readonly end: number;
  /** Values in it that follow. */
  readonly values: number;
}

/** Null: a type that no message has. `end` may lie beyond the bytes. */
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

/** Binary, text, lists and maps whose length is written out: how many bytes it takes. */
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

/** Null, false, true and numbers: the bytes behind the type. */
const fixedBytes: ReadonlyMap<number, number> = new Map([
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
