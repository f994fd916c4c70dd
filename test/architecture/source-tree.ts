/** The sources for the checks: files by path, their code, and their imports. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { fileURLToPath } from 'node:url';
import { checkout } from '../support/checkout.ts';

export interface SourceFile {
  /** Path from the root of the repository, such as `src/lib/clock.ts`. */
  readonly path: string;
  /** Number of lines that are neither blank nor only comment. */
  readonly codeLines: number;
  /** The text without its comments. */
  readonly code: string;
  /** Specifiers as written: relative, or the name of a package. */
  readonly imports: readonly string[];
}

export function sourceFile(path: string, text: string): SourceFile {
  const code = withoutComments(text);
  const codeLines = code.split('\n').filter((line) => line.trim() !== '').length;
  return { path, code, codeLines, imports: importsOf(code) };
}

/** Reads every file under `src/`, of any kind. */
export function readSources(): SourceFile[] {
  const root = fileURLToPath(checkout);
  return readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => sourceFile(path.slice(root.length), readFileSync(path, 'utf8')));
}

/** Path that an import in `from` resolves to; null: a package. */
export function resolveImport(from: string, specifier: string): string | null {
  return specifier.startsWith('.') ? normalize(join(dirname(from), specifier)) : null;
}

/** Comments, strings and regular expressions; comments on consecutive lines are one. */
export const token =
  /\/\*[\s\S]*?\*\/|(?:\/\/[^\n]*(?:\n[ \t]*(?=\/\/))?)+|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n*[])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])*\/[dgimsuvy]*/g;

/** Skips strings and regular expressions, in which text may look like a comment. */
function withoutComments(text: string): string {
  return text.replace(token, (found) => (found.startsWith('/*') || found.startsWith('//') ? '' : found));
}

const importForms = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\b(?:import|require)\s*\(\s*['"]([^'"]+)['"]/g,
];

function importsOf(code: string): string[] {
  return importForms.flatMap((form) => [...code.matchAll(form)].map(([, specifier = '']) => specifier));
}
