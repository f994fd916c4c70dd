/** NDJSON: one entry a line, its kind under `kind` or told by its id. Empty lines are passed over. */
import type { ByteWindow } from '../events/byte-window.ts';
import { inferKind, isKindName } from './registry-kinds.ts';
import { parseObject, type RegistryItem } from './registry-text.ts';
import { registryEntryBytesMax } from '../lmdb/store-limits.ts';

const lineFeed = 0x0a;

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

/** Bytes before the next line feed or the end of the file; null behind the last line. May stop at the limit. */
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
  const reason = kind === null ? 'has no kind and no id that tells it' : 'kind: is none of a registry';
  return { ok: false, where: `line ${number}`, reason };
}

function isBlank(line: Buffer): boolean {
  return line.toString('latin1').trim() === '';
}
