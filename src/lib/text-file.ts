/** Text files written by people, possibly with an editor that adds a byte order mark. */
import { readFileSync } from 'node:fs';

/** The text without its byte order mark. `path` may be a descriptor. Throws when the file is unreadable or UTF-16. */
export function readTextFile(path: string | number): string {
  const bytes = readFileSync(path);
  const mark = bytes.subarray(0, 2).toString('hex');
  if (mark === 'fffe' || mark === 'feff') throw new Error(`${path} is UTF-16: save it as UTF-8`);
  return bytes.subarray(hasByteOrderMark(bytes) ? 3 : 0).toString();
}

/** Parses a JSON file. Throws like `readTextFile`, and without quoting the text, which may be a secret, when it is not JSON. */
export function readJsonFile(path: string): unknown {
  const text = readTextFile(path);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is not JSON');
  }
}

/** True: the bytes begin with the UTF-8 mark. */
export function hasByteOrderMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}
