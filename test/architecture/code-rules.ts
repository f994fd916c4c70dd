/** Rules of style that a program can check, each a function from files to what breaks it. */
import type { SourceFile } from './source-tree.ts';

const codeLinesMax = 220;
const pathForm = /^src(?:\/[a-z0-9]+(?:-[a-z0-9]+)*)+\.ts$/;
/** A page has its markup, its styles and its icon as files of their own, and is checked with the types of a browser. */
const pageForm = /^src\/console\/(?:(?:[a-z]+\/)?[a-z0-9]+(?:-[a-z0-9]+)*\.(?:css|html|svg)|tsconfig\.json)$/;
/** Has Node read the others, so that it cannot be one of them. */
const preload = 'src/typescript.mjs';
const namesNothing = new Set(['manager', 'helper', 'helpers', 'util', 'utils', 'data', 'process', 'index']);

/** Names are kebab-case nouns that say something; files stay small. */
export function nameViolations(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path }) => {
    if (pageForm.test(path) || path === preload) return [];
    if (!pathForm.test(path)) return [`${path} is not a kebab-case .ts file`];
    const lastWord = path.slice(0, -'.ts'.length).split(/[/-]/).at(-1) ?? '';
    return namesNothing.has(lastWord) ? [`${path} says nothing by its name`] : [];
  });
}

export function lengthViolations(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ codeLines }) => codeLines > codeLinesMax)
    .map(({ path, codeLines }) => `${path} has ${codeLines} lines of code; ${codeLinesMax} are allowed`);
}

/** A file of nothing but re-exports hides where things are. */
export function barrels(files: readonly SourceFile[]): string[] {
  const reExport = /export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s*from\s*['"][^'"]+['"]\s*;?/g;
  return files
    .filter(({ code }) => code.search(reExport) !== -1 && code.replace(reExport, '').trim() === '')
    .map(({ path }) => `${path} is a barrel`);
}

/** Reads of the world around the process, and the layers that may do them; a browser runs `console`. */
const worldly =
  /\bprocess\.env\b|\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bset(?:Timeout|Interval)\b|['"]node:timers(?:\/promises)?['"]/g;
const mayBeWorldly = /^src\/(?:lib\/system-clock\.ts$|main\.ts$|server\/|console\/|cli\/|tools\/)/;

/** Time comes from the clock, the environment from the settings. */
export function worldViolations(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => !mayBeWorldly.test(path))
    .flatMap(({ path, code }) => [...code.matchAll(worldly)].map(([found]) => `${path} uses ${found}`));
}
