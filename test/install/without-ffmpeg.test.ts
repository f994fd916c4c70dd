/**
 * Tests an installation from a clean clone without FFmpeg, as README describes, and installations with damaged or missing
 * binaries: without FFmpeg's, or WebRTC's, the server works; without lmdb's, or the compiler's, every command reports what is
 * missing.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkout } from '../support/checkout.ts';
import { freeListens, settingArguments } from '../support/server-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';

const run = promisify(execFile);
const clone = join(temporaryDirectory({ after }), 'clone');
const inClone = { cwd: clone };

await run('git', ['clone', '--quiet', '--depth', '1', `file://${fileURLToPath(checkout)}`, clone]);
await run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], inClone);

interface Ended {
  readonly code: number | string | null;
  readonly stdout: string;
  readonly stderr: string;
}

function reveille(...args: readonly string[]): Promise<Ended> {
  const words = [
    'run',
    '-s',
    'reveille',
    '--',
    '--data-dir',
    'data',
    ...settingArguments(freeListens),
    ...args,
  ];
  return run('npm', words, inClone).then(
    (said) => ({ code: 0, ...said }),
    (error: Ended) => error,
  );
}

/**
 * Starts the server, and stops it once it has logged both `ready` and a sentence with `missing`, in either order: the media
 * process loads its libraries beside the start. Returns the only such sentence.
 */
async function missingIn(t: Ending, missing: string): Promise<string> {
  const args = [
    '--import',
    'tsx',
    'src/main.ts',
    'serve',
    '--data-dir',
    'data',
    ...settingArguments(freeListens),
  ];
  const server = spawn(process.execPath, args, { cwd: clone, stdio: ['ignore', 'pipe', 'ignore'] });
  t.after(() => void server.kill('SIGKILL'));
  const sentences: string[] = [];
  const found = (): string[] => sentences.filter((sentence) => sentence.includes(missing));
  for await (const line of createInterface({ input: server.stdout })) {
    sentences.push((JSON.parse(line) as { readonly msg: string }).msg);
    if (!server.killed && sentences.includes('ready') && found().length > 0) server.kill('SIGTERM');
  }
  const [first = '', ...others] = found();
  assert.deepEqual(others, []);
  assert(sentences.includes('ready'), sentences.join('\n'));
  return first;
}

test('a server starts with a truncated binary of FFmpeg', async (t) => {
  if (process.platform !== 'linux') return t.skip('elsewhere the loader says so');
  const binary = `node_modules/@seydx/node-av-linux-${process.arch}/node-av.node`;
  truncateSync(join(clone, binary), 1_000_000);
  assert.match(await missingIn(t, '(FFmpeg)'), /does not load .*: .*node-av\.node is cut short$/);
});

test('without FFmpeg a server of a clean clone starts and reports once what is missing', async (t) => {
  await run('npm', ['run', 'without-ffmpeg'], inClone);
  assert.equal(existsSync(join(clone, 'node_modules/@seydx')), false);
  assert.match(await missingIn(t, '(FFmpeg)'), /package node-av \(FFmpeg\) is not installed; run npm ci$/);
});

test('a server starts with a truncated or missing binary of WebRTC', async (t) => {
  if (process.platform !== 'linux') return t.skip('elsewhere the loader says so');
  const binary = join(
    clone,
    `node_modules/@node-datachannel/linux-${process.arch}-gnu/node_datachannel.node`,
  );
  truncateSync(binary, 1_000_000);
  assert.match(await missingIn(t, 'no WebRTC: '), /node_datachannel\.node is cut short$/);
  rmSync(binary);
  assert.match(await missingIn(t, 'no WebRTC: '), /; run npm ci: Cannot load native addon/);
});

test('without the binary of the compiler every command reports what is missing, and the remedy', async () => {
  const folder = join(clone, 'node_modules/@esbuild');
  renameSync(folder, `${folder}-away`);
  for (const command of ['serve', 'status', 'version']) {
    const { code, stderr } = await reveille(command);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^the compiler esbuild has no binary for [\w-]+ here\n {2}npm ci mends it; not with --omit=optional.*\n$/,
    );
  }
  renameSync(`${folder}-away`, folder);
});

test('without the binary of lmdb every command reports what is missing, and the remedy', async () => {
  const folder = join(clone, 'node_modules/@lmdb');
  renameSync(folder, `${folder}-away`);
  for (const command of ['serve', 'status', 'registry']) {
    const { code, stderr } = await reveille(...(command === 'registry' ? ['registry', 'export'] : [command]));
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^the store's library lmdb is installed without its binary .*\n {2}npm ci mends it.*\n$/,
    );
  }
  const { code, stdout } = await reveille('doctor');
  assert.equal(code, 1);
  assert.match(stdout, /^fail  lmdb .*run npm ci on this machine/m);
  renameSync(`${folder}-away`, folder);
});
