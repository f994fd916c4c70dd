/** Makes untrusted text safe to show: escapes what controls a terminal, and what reverses or hides other text. */

/** Control characters, and characters that reverse or hide text. */
const unshowable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;
/** Characters that this program never prints: controls except line feed and tab, and direction marks. */
const dangerous = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Escapes an id, or other untrusted text, for one line. */
export function showable(text: string): string {
  return text.replaceAll(unshowable, escaped);
}

/** Escapes whole lines, so that they cannot control the terminal. */
export function showableLines(text: string): string {
  return text.replaceAll(dangerous, (found) => (found === '\n' || found === '\t' ? found : escaped(found)));
}

function escaped(found: string): string {
  const code = found.codePointAt(0) ?? 0;
  return code < 0x1_00_00 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`;
}

/** Replaces the user information of each URL in the text, and the @ after it, with `instead`. */
export function replaceUserInfo(text: string, instead: string): string {
  const [scheme = '', ...rests] = text.split('://');
  return [scheme, ...rests.map((rest) => replaceBeforeHost(rest, instead))].join('://');
}

function replaceBeforeHost(rest: string, instead: string): string {
  const end = rest.lastIndexOf('@');
  return end === -1 ? rest : instead + rest.slice(end + 1);
}
