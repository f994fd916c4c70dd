/**
 * Makes a release of the committed tree: checks it, packs a clean clone, and writes the files with signed checksums into a new
 * folder. It neither tags nor publishes.
 *
 *   npm run release -- --dry-run
 *   npm run release -- --key FILE [--out FOLDER]
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { checkout } from './checkout.ts';
import { findReleaseProblems, readRelease, type Release } from './release-checks.ts';
import { readSigningKey, signatureName, signSums, sumsName, writeSums } from './release-sums.ts';

const root = fileURLToPath(checkout);

interface Plan {
  readonly isDryRun: boolean;
  readonly key: string | null;
  readonly out: string;
}

function readPlan({ version }: Release): Plan {
  const { values } = parseArgs({
    options: { 'dry-run': { type: 'boolean' }, key: { type: 'string' }, out: { type: 'string' } },
  });
  const { 'dry-run': isDryRun = false, key = null, out = join('release', version) } = values;
  if (!isDryRun && key === null)
    throw new Error('name the key that signs with --key FILE, or look what would be done with --dry-run');
  return { isDryRun, key, out: resolve(out) };
}

function release(): void {
  const about = readRelease(root);
  const plan = readPlan(about);
  const problems = findReleaseProblems(root, about);
  if (existsSync(plan.out))
    problems.push(`${plan.out} is there already: remove it, or name another with --out`);
  for (const problem of problems) print(`not ready: ${problem}`);
  if (problems.length > 0) throw new Error(`${about.version} cannot be released yet`);
  const key = plan.key === null ? null : readSigningKey(plan.key);
  const work = mkdtempSync(join(tmpdir(), 'reveille-release-'));
  try {
    const clone = cloneOf(work);
    const folder = join(work, 'files');
    mkdirSync(folder);
    pack(clone, folder, about);
    print(writeSums(folder).trimEnd());
    if (key !== null) signSums(folder, key);
    // Copied in one step, so that a failed release leaves no folder.
    if (!plan.isDryRun) cpSync(folder, plan.out, { recursive: true, force: false, errorOnExist: true });
    print(
      plan.isDryRun ? `a dry run: nothing was signed and kept of ${about.version}` : nextSteps(plan, about),
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Clones the committed tree and installs its dependencies. */
function cloneOf(work: string): string {
  const clone = join(work, 'clone');
  execFileSync('git', ['clone', '--quiet', '--depth', '1', `file://${root}`, clone], { stdio: 'inherit' });
  npm(clone, 'ci', '--prefer-offline', '--no-audit', '--no-fund');
  return clone;
}

function pack(clone: string, folder: string, { version }: Release): void {
  npm(clone, 'run', '-s', 'build');
  npm(clone, 'pack', '--silent', '--pack-destination', folder);
  execFileSync(
    process.execPath,
    ['--import', 'tsx', 'test/support/client-package.ts', 'dist/client-package'],
    {
      cwd: clone,
      stdio: 'inherit',
    },
  );
  npm(join(clone, 'dist/client-package'), 'pack', '--silent', '--pack-destination', folder);
  const bill = execFileSync('npm', ['run', '-s', 'sbom'], { cwd: clone, maxBuffer: 64 * 1024 * 1024 });
  writeFileSync(join(folder, `reveille-${version}.cdx.json`), bill);
}

function nextSteps({ out }: Plan, { version, tag }: Release): string {
  return [
    `${version} is in ${out}. What it was made of is still to be named:`,
    `  git tag --annotate ${tag} --message 'Reveille ${version}'`,
    `  git push origin ${tag}`,
    `Whoever has the public key verifies it as docs/releasing.md says, by ${sumsName} and ${signatureName}.`,
  ].join('\n');
}

function npm(cwd: string, ...args: readonly string[]): void {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  release();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
