/** Text from strangers on a terminal: what it would obey, and what turns or hides text, is shown escaped. */

/** Controls, and what turns or hides text. */
const unshowable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;
/** What no text of ours has: controls but a line feed and a tab, and what turns text around. */
const dangerous = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** An id, or a word of somebody else, in one line. */
export function showable(text: string): string {
  return text.replaceAll(unshowable, escaped);
}

/** Whole lines of a command, whatever got into them: they do nothing to the terminal. */
export function showableLines(text: string): string {
  return text.replaceAll(dangerous, (found) => (found === '\n' || found === '\t' ? found : escaped(found)));
}

function escaped(found: string): string {
  const code = found.codePointAt(0) ?? 0;
  return code < 0x1_00_00 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`;
}
