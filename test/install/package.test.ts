/**
 * Installs the packed tarball as on a machine without the checkout, and trims it: in an empty folder, `npx reveille init` sets up
 * a server, and the three commands that it prints start it and wake a simulated device.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkout } from '../support/checkout.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';

const run = promisify(execFile);
const machine = temporaryDirectory({ after });
const folder = join(machine, 'doors');
const profiles = join(machine, 'profiles');
mkdirSync(folder);

/** Variables that would lead npm and npx to the checkout. */
const strange = /^(?:REVEILLE_|npm_|INIT_CWD|NODE_)/;
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !strange.test(name))),
  XDG_CONFIG_HOME: profiles,
};

const inCheckout = { cwd: fileURLToPath(checkout) };
await run('npm', ['run', '-s', 'build'], inCheckout);
await run('npm', ['pack', '--pack-destination', machine], inCheckout);
const tarball = readdirSync(machine).find((name) => name.endsWith('.tgz')) ?? '';
const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
await run('npm', ['install', ...options, join(machine, tarball)], { cwd: folder, env });
const packages = join(folder, 'node_modules');
// A need of the project itself, whose code the bundles have as well.
await run('npm', ['pkg', 'set', 'dependencies.zod=*'], { cwd: folder, env });
const trim = ['run', '-s', '--prefix', 'node_modules/reveille', 'trim'];
const trimmed = await run('npm', trim, { cwd: folder, env });

/** Runs a shell command, ended with the test. Resolves to its first output line that contains `awaited`. */
async function typed(t: Ending, line: string, awaited: string): Promise<string> {
  const child = spawn('sh', ['-c', line], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  t.after(async () => {
    // npx, its shell and the command are one process group.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    await ended;
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (complaint += piece));
  for await (const said of createInterface({ input: child.stdout })) {
    if (!said.includes(awaited)) continue;
    child.stdout.resume();
    return said;
  }
  throw new Error(`${line} ended without "${awaited}": ${complaint}`);
}

test('the package has the program and its documents, and neither tests nor sources', async () => {
  const packed = join(folder, 'node_modules/reveille');
  const names = readdirSync(packed).filter((name) => name !== 'node_modules');
  for (const name of ['dist', 'config', 'docs', 'README.md', 'CHANGELOG.md'])
    assert(names.includes(name), name);
  assert(!names.includes('src') && !names.includes('test'), names.join());
  const { stdout } = await run('npx', ['reveille', 'version'], { cwd: folder, env });
  assert.match(stdout, /^reveille \d+\.\d+\.\d+ /);
});

test('trim leaves what the server loads, its compiled code, needs of another project, and licenses', () => {
  const [, left] = /^packages and server: \d+ MiB before, (\d+) MiB now\n$/.exec(trimmed.stdout) ?? [];
  assert(Number(left) <= 250, trimmed.stdout);
  assert.deepEqual(readdirSync(join(packages, 'fastify')), ['LICENSE']);
  for (const kept of ['zod/index.js', 'lmdb/package.json', 'node-av/package.json'])
    assert(existsSync(join(packages, kept)), kept);
  const bundles = readdirSync(join(packages, 'reveille/dist/bundles'));
  assert(
    bundles.some((name) => /^main-\w+\.cjs\.code$/.test(name)),
    bundles.join(),
  );
  assert(!bundles.some((name) => name.endsWith('.map')), bundles.join());
  const binaries = readdirSync(join(packages, 'uWebSockets.js/dist/bin'));
  assert(binaries.length > 0 && binaries.every((name) => name.includes(process.platform)), binaries.join());
});

test('a trimmed package plays the demo from compiled code, with pictures', async (t) => {
  const listens = ['api', 'sleep', 'signal', 'ops']
    .map((name) => `--set ${name}.listen=127.0.0.1:0`)
    .join(' ');
  await typed(t, `npx reveille demo --data-dir demo ${listens}`, 'plays h264');
});

test('init sets up a server, and the three commands that it prints serve it and wake a device', async (t) => {
  const init = [
    'reveille',
    'init',
    '--yes',
    '--port',
    '0',
    '--device',
    'DOOR-1',
    '--secrets',
    'key.json',
    '--json',
  ];
  const { stdout } = await run('npx', init, { cwd: folder, env });
  const { next } = JSON.parse(stdout) as { next: readonly string[] };
  const [serve = '', simulate = '', wake = ''] = next;
  assert(
    next.every((line) => line.startsWith('npx reveille ')),
    stdout,
  );
  assert.equal(statSync(join(folder, 'key.json')).mode & 0o077, 0);
  const ready = await typed(t, serve, '"msg":"ready"');
  const { listeners } = JSON.parse(ready) as { readonly listeners: { readonly ops: string } };
  for (const path of ['/console', '/console/console.js', '/console/console.css'])
    assert.equal((await fetch(`http://${listeners.ops}${path}`)).status, 200, `the package has ${path}`);
  await typed(t, simulate, 'asleep');
  const { stdout: woken } = await run('sh', ['-c', wake], { cwd: folder, env });
  assert.match(woken, /woke|online/);
  const place = ['--config', 'reveille.json', '--credential', 'key.json'];
  const asked = await run('npx', ['reveille', 'status', 'DOOR-1', ...place], { cwd: folder, env });
  assert.match(asked.stdout, /^DOOR-1 /);
  await assert.rejects(run('npx', init, { cwd: folder, env }), { code: 1 });
});
