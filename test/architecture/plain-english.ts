/**
 * Checks plain English as far as a program can: finds the texts of a file, and the faults of each by the rules of the vocabulary.
 * Texts are comments, string literals of several words, names of tests, and the paragraphs, items, headings and cells of documents.
 */

import { token } from './source-tree.ts';

/** A text of a file, with the line on which it begins. */
export interface Passage {
  readonly line: number;
  readonly text: string;
}

const several = /^\S+\s+\S+\s+\S/;

/** Comments and strings of TypeScript. Strings of a test other than its name are skipped: most of them are test data. */
export function passagesOfCode(text: string, isTest: boolean): Passage[] {
  return [...text.matchAll(token)].flatMap(({ 0: found, index }) => {
    const line = lineAt(text, index);
    if (found.startsWith('/*')) return paragraphs(found.slice(2, -2).replace(/^[ \t]*\*? ?/gm, ''), line);
    if (found.startsWith('//')) return paragraphs(found.replace(/^[ \t]*\/\/ ?/gm, ''), line);
    if (found.startsWith('/')) return [];
    const before = text.slice(Math.max(0, index - 60), index).trimEnd();
    if (before.endsWith('+') || (isTest && !/(?:\b(?:it|describe)|[tT]est)\($/.test(before))) return [];
    const value = found.slice(1, -1).replace(/\$\{[^}]*\}/g, 'x');
    return several.test(value) ? [{ line, text: value }] : [];
  });
}

/** Paragraphs, items of lists, headings and cells of tables, without the blocks of code. */
export function passagesOfDocument(text: string): Passage[] {
  const prose = text
    .replace(/^( *)(```|~~~)[\s\S]*?^\1\2[^\n]*$/gm, blank)
    .replace(/<!--[\s\S]*?-->/g, blank);
  return paragraphs(prose, 1);
}

/** Comments that begin with `#`, and the descriptions of an OpenAPI file. */
export function passagesOfSettings(text: string): Passage[] {
  const comments = [...text.matchAll(/(?:^[ \t]*#(?!!)[^\n]*\n?)+/gm)].flatMap(({ 0: found, index }) =>
    paragraphs(found.replace(/^[ \t]*#+ ?/gm, ''), lineAt(text, index)),
  );
  const described = [...text.matchAll(/\b(?:description|summary|title): (?:[>|]-?\s+)?['"]?(\S[^\n]*)/g)];
  return [
    ...comments,
    ...described.map(({ 1: found = '', index }) => ({ line: lineAt(text, index), text: found })),
  ];
}

/** Keeps the lines where they are. */
function blank(found: string): string {
  return found.replace(/[^\n]+/g, '');
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

function paragraphs(text: string, firstLine: number): Passage[] {
  const passages: { line: number; text: string }[] = [];
  let isOpen = false;
  for (const [at, row] of text.split('\n').entries()) {
    const line = firstLine + at;
    const trimmed = row.trim();
    const begins = /^(?:[-*+] |\d+\. |#+ |> )/.test(trimmed);
    if (trimmed.startsWith('|')) {
      passages.push(...trimmed.split('|').map((cell) => ({ line, text: cell.trim() })));
      isOpen = false;
    } else if (trimmed === '') isOpen = false;
    else if (!isOpen || begins) {
      passages.push({ line, text: trimmed.replace(/^(?:[-*+] |\d+\. |#+ |> )\s*/, '') });
      isOpen = !trimmed.startsWith('#');
    } else {
      const last = passages.at(-1);
      if (last !== undefined) last.text += ` ${trimmed}`;
    }
  }
  return passages.filter(({ text: found }) => found !== '');
}

/** A clause that lacks its noun; a question may begin so. */
const headless =
  /^["'(*_`[]*(?:For (?=who|what))?(?:What|Who|Whoever|Whose|Whom|Whether|Of|Those|That|Where|How|Nobody|Somebody)\b(?!-)/i;
/** Within a text, only words that never begin an adverbial clause. */
const headlessLater =
  /[.;:!?] (?:What|Who|Whoever|Whose|Whom|Whether|Nobody|Somebody|Those (?:that|who|of))\b(?!-)/g;

const phrases = [
  /\b(?:tried on|told|tells|heard (?:of|from)|anew|whoever|is so of|comes to nothing|of no interest)\b/gi,
  /\b(?:half of them|99 in 100|the processor|beside it|lets? in|known? of|knows of)\b/gi,
  /\b(?:goes|go|going|went) on\b(?! (?:the|a)\b)/gi,
  /\bleft out:|\b(?:by|to) nobody\b|\b(?:nobody|somebody|whoever)'s\b/gi,
];

/** The faults of a text, each in a few words. */
export function faultsOf({ line, text }: Passage): string[] {
  const plain = text.replace(/`[^`]*`/g, 'x');
  const faults = phrases.flatMap((phrase) =>
    [...plain.matchAll(phrase)].map(([found]) => `${line}: says "${found}"`),
  );
  if (headless.test(text) && !/\?["')*_]*$/.test(text.split(/(?<=[.?!]) /)[0] ?? ''))
    faults.push(`${line}: begins with "${text.slice(0, 40)}"`);
  const later = [...plain.matchAll(headlessLater)].map(({ index }) => plain.slice(index + 2));
  for (const sentence of later)
    if (!/^[^.!]*\?/.test(sentence)) faults.push(`${line}: continues with "${sentence.slice(0, 40)}"`);
  return faults;
}

/** Names that do not state the effect of a function. */
const effectless =
  /^#?(?:take[sn]?|took|look(?:s|ed)?|note[sd]?|hears?|heard|tells?|told|says?|said|holds?|held|settle[sd]?|come[s]?|came|brings?|brought|gives?|given|gave|gone|goes|went|go)(?=[A-Z]|$)/;
/** Terms of the field. */
const terms = new Set(['giveUp', 'lookUp', 'takeOver', 'goAway']);

/** Declarations of functions and methods with such a name, each with its line. */
export function effectlessMethods(code: string): string[] {
  const declared =
    /^[ \t]*(?:(?:export|default|static|async|private|protected|public|override|abstract|readonly|get|set|function)\s+|\*)*(#?[A-Za-z]+)\??(?:<[^>\n]*>)?(?:: | = (?:async )?)?\(/gm;
  return [...code.matchAll(declared)].flatMap(({ 0: found, 1: name = '', index }) => {
    if (!effectless.test(name) || terms.has(name.replace('#', ''))) return [];
    const end = closingAt(code, index + found.length);
    return /^\s*(?::|\{|=>)/.test(code.slice(end, end + 40)) || found.includes('function')
      ? [`${lineAt(code, index + found.search(/\S/))}: names a function ${name}`]
      : [];
  });
}

/** The index after the parenthesis that closes the one before `start`. */
function closingAt(code: string, start: number): number {
  let depth = 1;
  for (let at = start; at < code.length; at++) {
    if (code[at] === '(') depth += 1;
    else if (code[at] === ')') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return code.length;
}
