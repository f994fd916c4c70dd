/** Style rules that a program can check; each function returns the violations in the given files. */
import type { SourceFile } from './source-tree.ts';

const codeLinesMax = 220;
const pathForm = /^src(?:\/[a-z0-9]+(?:-[a-z0-9]+)*)+\.ts$/;
/** The console's page has markup, styles and an icon in files of their own, and is compiled with browser types. */
const pageForm = /^src\/console\/(?:(?:[a-z]+\/)?[a-z0-9]+(?:-[a-z0-9]+)*\.(?:css|html|svg)|tsconfig\.json)$/;
/** It lets Node load the other files, so it cannot be TypeScript itself. */
const preload = 'src/typescript.mjs';
const namesNothing = new Set(['manager', 'helper', 'helpers', 'util', 'utils', 'data', 'process', 'index']);

/** File names are specific kebab-case nouns; files stay small. */
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

/** A file with only re-exports hides the real location. */
export function barrels(files: readonly SourceFile[]): string[] {
  const reExport = /export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})\s*from\s*['"][^'"]+['"]\s*;?/g;
  return files
    .filter(({ code }) => code.search(reExport) !== -1 && code.replace(reExport, '').trim() === '')
    .map(({ path }) => `${path} is a barrel`);
}

/** Access to the environment, clocks and timers, and the files that may use them; `console` runs in a browser. */
const worldly =
  /\bprocess\.env\b|\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bset(?:Timeout|Interval)\b|['"]node:timers(?:\/promises)?['"]/g;
const mayBeWorldly = /^src\/(?:lib\/system-clock\.ts$|main\.ts$|server\/|console\/|cli\/|tools\/)/;

/** Time comes from the clock, environment variables from the settings. */
export function worldViolations(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => !mayBeWorldly.test(path))
    .flatMap(({ path, code }) => [...code.matchAll(worldly)].map(([found]) => `${path} uses ${found}`));
}
