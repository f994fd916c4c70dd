/** A session description fragment, sent by a WHIP client with PATCH. Source: RFC 8840, 9; RFC 9725, 4.3. */
import { succeed, type Result } from '../../lib/result.ts';
import { readIce, type IceCredentials } from './offered-transport.ts';
import { refuseLine, splitLines, type SdpAttribute } from './session-description.ts';

/** Far above those of clients; a fragment with more is refused. */
const linesMax = 1024;

/** The credentials of its candidates; null: it has none. */
export function readIceFragment(text: string): Result<IceCredentials | null, string> {
  const attributes = new Map<string, SdpAttribute[]>();
  const lines = splitLines(text, linesMax);
  if (!lines.ok) return lines;
  for (const line of lines.value) {
    if (!/^[am]=/.test(line.text)) return refuseLine(line, 'each line of a fragment begins with a= or m=');
    const [, name, value = ''] = /^a=(ice-ufrag|ice-pwd):(.*)$/.exec(line.text) ?? [];
    if (name !== undefined && !attributes.has(name)) attributes.set(name, [{ ...line, value }]);
  }
  const [first] = [...attributes.values()].flat();
  return first === undefined ? succeed(null) : readIce([attributes], first);
}
