/**
 * The time that commands of the built package take, from the shell's call to their end, beside a running server.
 *
 *   npm run bench:commands [-- --smoke] [name part ...]
 *
 * Each is run once to warm the file cache, then five times, all in turn; the median counts. `--smoke` runs each once. Fails
 * when a command ends in another way than it should. The machine has to be quiet: a command is a process of its own.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { alignColumns } from '../src/cli/shell/output.ts';
import { freeListens, settingArguments } from '../test/support/server-process.ts';

const { values: flags, positionals: wanted } = parseArgs({
  options: { smoke: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const rounds = flags.smoke ? 1 : 5;
const program = fileURLToPath(new URL('../dist/main.js', import.meta.url));
assert.ok(existsSync(program), 'npm run build makes the package that is measured');

const device = 'DEMO-DOORBELL-1';
/** Exit codes by command line. */
const commands: readonly (readonly [line: string, exitCode: 0 | 1])[] = [
  ['version', 0],
  ['--help', 0],
  ['completion bash', 0],
  ['config', 0],
  ['doctor', 0],
  ['profile list', 0],
  [`status ${device}`, 0],
  [`status ${device} DEMO-DOORBELL-2`, 0],
  [`wake ${device}`, 1],
  [`message ${device} hello`, 1],
  [`call GET /v1/device/connectivity?device_id=${device}`, 0],
  ['sign GET /v1/events', 0],
  ['events', 0],
  ['wakeups none', 1],
  ['devices list', 0],
  ['registry list', 0],
  ['registry list devices', 0],
  ['registry export', 0],
  [`device show ${device}`, 0],
  [`device disable ${device} --enable`, 0],
  ['credential create --app 2818153', 0],
  ['bridge list', 0],
  ['webhook list', 0],
  ['calls list', 0],
  ['cluster status', 0],
  ['audit', 0],
  ['ops-token list', 0],
  ['token-key list', 0],
];

const directory = mkdtempSync(join(tmpdir(), 'reveille-commands-'));
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('REVEILLE_'))),
  XDG_CONFIG_HOME: directory,
};
const ofStore = ['--data-dir', join(directory, 'data')];
const settings = settingArguments([...freeListens, 'media.process=none']);
const server = spawn(process.execPath, [program, 'serve', ...ofStore, ...settings], {
  env,
  stdio: ['ignore', 'pipe', 'ignore'],
});
try {
  for await (const line of createInterface({ input: server.stdout }))
    if (line.includes('"msg":"ready"')) break;
  server.stdout.resume();
  const chosen = commands.filter(
    ([line]) => wanted.length === 0 || wanted.some((part) => line.includes(part)),
  );
  assert.ok(chosen.length > 0, 'no command has this in its name');
  const times = new Map(chosen.map(([line]) => [line, [] as number[]]));
  for (let round = flags.smoke ? 1 : 0; round <= rounds; round++)
    for (const [line, exitCode] of chosen) {
      const ms = timeOf(line, exitCode);
      if (round > 0) times.get(line)?.push(ms);
    }
  const rows = Array.from(times, ([line, found]) => [line, ...figures(found)]);
  console.log(alignColumns([['COMMAND', 'MEDIAN', 'SLOWEST'], ...rows]));
} finally {
  server.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
}

/** Milliseconds. */
function timeOf(line: string, exitCode: number): number {
  const begun = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [program, ...line.split(' '), ...ofStore], {
    env,
    encoding: 'utf8',
  });
  const ms = performance.now() - begun;
  assert.equal(status, exitCode, `${line}: ${stderr}`);
  return ms;
}

function figures(found: readonly number[]): string[] {
  const sorted = found.toSorted((a, b) => a - b);
  return [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map((ms) => `${ms?.toFixed(0)} ms`);
}
