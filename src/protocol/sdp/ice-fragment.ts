/** A fragment of a session description that a client of WHIP sends by PATCH. Source: RFC 8840, 9; RFC 9725, 4.3. */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { sdpFragmentLinesMax } from '../../model/media/sdp-limits.ts';
import { readIce, type IceCredentials } from './media-offer.ts';
import { splitLines } from './session-description.ts';

/** The credentials that its candidates belong to; null: it names none. The error says what is wrong with it. */
export function readIceFragment(text: string): Result<IceCredentials | null, string> {
  const attributes = new Map<string, string[]>();
  const lines = splitLines(text, sdpFragmentLinesMax);
  if (!lines.ok) return lines;
  for (const line of lines.value) {
    if (!/^[am]=/.test(line)) return fail('each line of a fragment begins with a= or m=');
    const [, name, value = ''] = /^a=(ice-ufrag|ice-pwd):(.*)$/.exec(line) ?? [];
    if (name !== undefined && !attributes.has(name)) attributes.set(name, [value]);
  }
  if (attributes.size === 0) return succeed(null);
  const ice = readIce([attributes]);
  return ice === null ? fail('a fragment names both ice-ufrag and ice-pwd') : succeed(ice);
}
