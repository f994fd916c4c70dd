/**
 * The sentences of errors that the program prints, as they stand in the source: the first text given to each maker of one, with
 * `…` for what is filled in. `docs/reference/troubleshooting.md` explains them.
 */

/**
 * Whatever makes an error that a person reads, also as the refusal of a request that a command has sent; another's sentence is
 * passed on by a call without a text.
 */
const makers =
  /(?:(?:\bnew (?:CommandError|StoreOpenError|AuditRefusal|OpsUnavailableError)|\busageError|#problems\.push|\bwrong|(?<![#.])\brefuse)\((?:\w+, )?|\{ error: )\s*/g;

export function errorSentences(source: string): string[] {
  return Array.from(source.matchAll(makers), (made) => readText(source, made.index + made[0].length)).filter(
    (sentence) => /\p{L}{3}/u.test(sentence),
  );
}

/** The literal that begins there; empty when there is none. */
function readText(source: string, from: number): string {
  const quote = source[from] ?? '';
  if (!`'"\``.includes(quote)) return '';
  let text = '';
  for (let at = from + 1; at < source.length && source[at] !== quote; at += 1) {
    if (source[at] === '\\') {
      at += 1;
      text += source[at] === 'n' ? ' ' : (source[at] ?? '');
    } else if (quote === '`' && source.startsWith('${', at)) {
      at = endOfExpression(source, at + 2);
      text += text.endsWith('…') ? '' : '…';
    } else text += source[at] ?? '';
  }
  return text.replace(/\s+/g, ' ').trim();
}

/** Of its closing brace. */
function endOfExpression(source: string, from: number): number {
  let depth = 1;
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === '{') depth += 1;
    if (source[at] === '}') depth -= 1;
    if (depth === 0) return at;
  }
  return source.length;
}
