/**
 * Runs suites that need more than Node and npm, one after another: `npm run test:with -- NAME ...`. `--help` lists them with
 * the Debian packages that each needs; `--packages` prints only the missing packages, for `apt-get install`, and `--names` the
 * names. The command installs or checks everything that a suite needs before it begins, or prints what to install.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { debianNode } from './support/debian-root.ts';
import { debianTools, isMissing, packageOf } from './support/debian-tools.ts';
import { placesOf, suites, type Suite } from './suites.ts';

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith('-'));
/** Flags for test/run.ts, such as `--test-name-pattern=…`. */
const flags = args.filter((arg) => arg.startsWith('-'));

/** Exit code of a suite that this machine cannot run, as in automake; .ci/run knows it. */
const skippedCode = 77;

process.exitCode = await main();

async function main(): Promise<number> {
  if (flags.includes('--packages')) return print(packagesOf(debianTools.filter(isMissing)).join(' '));
  if (flags.includes('--names')) return print(Object.keys(suites).join('\n'));
  if (flags.includes('--help')) return print(help());
  const unknown = names.filter((name) => suites[name] === undefined);
  if (unknown.length > 0 || names.length === 0) {
    const complaint = names.length === 0 ? 'name a suite' : `no suite ${unknown.join(', ')}`;
    console.error(`test:with: ${complaint}\n\n${help()}`);
    return 2;
  }
  const chosen = names.flatMap((name) => Object.entries(suites).filter(([other]) => other === name));
  const missing = chosen.flatMap(([, { tools }]) => tools.filter(isMissing));
  if (missing.length > 0) {
    console.error(
      `test:with: ${missing.join(', ')} missing: apt-get install ${packagesOf(missing).join(' ')}`,
    );
    return 1;
  }
  for (const [name, suite] of chosen) {
    const code = await run(name, suite);
    if (code !== 0) return code;
  }
  return 0;
}

function help(): string {
  const width = Math.max(...Object.keys(suites).map((name) => name.length));
  const lines = Object.entries(suites).map(([name, { about, tools }]) => {
    const packages =
      tools.length === 0 ? '' : `\n  ${' '.repeat(width)}  Debian: ${packagesOf(tools).join(' ')}`;
    return `  ${name.padEnd(width)}  ${about}${packages}`;
  });
  return [
    'Usage: npm run test:with -- NAME... [options of the test runner]',
    '',
    'Suites that need more than Node and npm:',
    ...lines,
    '',
    'Example: npm run test:with -- cluster --test-name-pattern=lease',
    'Packages that are missing: apt-get install $(npm run -s test:with -- --packages)',
  ].join('\n');
}

function packagesOf(tools: Suite['tools']): string[] {
  return [...new Set(tools.flatMap((tool) => packageOf(tool).split(' ')))].sort();
}

async function run(name: string, suite: Suite): Promise<number> {
  let [program = '', ...before] = nodeCommand(suite);
  const refusal = (await suite.findRefusal?.()) ?? null;
  if (refusal !== null) {
    console.error(`test:with: skipped ${name}: no Debian 13 of its own on this machine: ${refusal}`);
    return skippedCode;
  }
  try {
    await suite.prepare?.();
    if (suite.inDebian13 === true) [program = '', ...before] = enterDebian([program, ...before]);
    if (suite.node !== undefined) requireNode(suite.node, program, before);
  } catch (error) {
    console.error(`test:with: ${name}: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
  const runner = fileURLToPath(new URL('run.ts', import.meta.url));
  const options = ['--import', 'tsx', runner, ...(suite.flags ?? []), ...flags, ...placesOf(name)];
  return spawnSync(program, [...before, ...options], { stdio: 'inherit' }).status ?? 1;
}

function nodeCommand({ node }: Suite): string[] {
  if (node === undefined) return [process.execPath];
  return ['npx', '-y', '--ignore-scripts=false', `--package=node@${node}`, '--', 'node'];
}

/** The command that runs Node in the Debian root. */
function enterDebian([program = '', ...before]: readonly string[]): string[] {
  return debianNode(
    execFileSync(program, [...before, '-p', 'process.execPath'], { encoding: 'utf8' }).trim(),
  );
}

/** Without this check, a failed installation would run the suite with the current Node and pass. */
function requireNode(major: number, program: string, before: readonly string[]): void {
  const { stdout } = spawnSync(program, [...before, '--version'], { encoding: 'utf8' });
  if (!stdout.startsWith(`v${major}.`))
    throw new Error(`npm brought Node ${stdout.trim()} in place of ${major}`);
  console.log(`Node ${stdout.trim()}`);
}

function print(text: string): number {
  console.log(text);
  return 0;
}
