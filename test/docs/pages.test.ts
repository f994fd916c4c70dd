/** Runs every shell block of the documentation as written, unless it states why not. */
import { chmodSync, cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { checkout, readFromRoot } from '../support/checkout.ts';
import { toolPath } from '../support/debian-tools.ts';
import { documentPages, isShell, readBlocks, skipReason } from '../support/document-blocks.ts';
import { PageShell } from '../support/page-shell.ts';
import { lastFirst, temporaryDirectory, type Ending } from '../support/temporary-store.ts';

const loopbackUp = [
  'unshare',
  '--net',
  '--map-root-user',
  'sh',
  '-c',
  'ip link set lo up && echo up && exec cat',
];

/** True if users of this machine may create network namespaces. Without one, a test that finds a port in use reports it. */
const hasPrivateNetworks =
  spawnSync('sh', ['-c', `${loopbackUp.slice(0, 3).join(' ')} ip link set lo up`], {
    env: { PATH: toolPath },
  }).status === 0;

/** The command prefix that runs a command in the namespace, which lasts until the test or this process ends. */
async function enterPrivateNetwork(t: Ending): Promise<readonly string[]> {
  const [program = '', ...args] = loopbackUp;
  const holder = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => void holder.stdin.end());
  await once(holder.stdout, 'data');
  return ['nsenter', `--target=${holder.pid}`, '--user', '--net', '--preserve-credentials'];
}

const root = fileURLToPath(checkout);
/** Compiled as in the package, with the command `reveille`. */
const program = fileURLToPath(moduleBeside('../../src/main', import.meta.url));

const pages = documentPages()
  .map((page) => ({ page, blocks: readBlocks(readFromRoot(page)).filter(isShell) }))
  .filter(({ blocks }) => blocks.length > 0);

/** Creates a checkout that a page may modify, and a home directory. */
function layOut(folder: string): NodeJS.ProcessEnv {
  const [home, bin, copy] = ['home', 'bin', 'reveille'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const made of [home, bin, join(copy, 'node_modules')]) mkdirSync(made, { recursive: true });
  for (const name of readdirSync(root))
    if (!/^(?:\..+|bench|dist|node_modules|src|test)$/.test(name))
      cpSync(join(root, name), join(copy, name), { recursive: true });
  // tsx caches compiled files by path: a copy would be compiled again for each page.
  symlinkSync(join(root, 'src'), join(copy, 'src'));
  // Linked one by one: an `npm ci` in a page then removes only the links.
  for (const name of readdirSync(join(root, 'node_modules')))
    symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name));
  writeFileSync(join(bin, 'reveille'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  chmodSync(join(bin, 'reveille'), 0o755);
  return { PATH: `${bin}:${toolPath}`, HOME: home, PWD: copy, LANG: 'C.UTF-8' };
}

async function openShell(t: Ending): Promise<PageShell> {
  const ending = lastFirst(t);
  const environment = layOut(temporaryDirectory(ending));
  return new PageShell(ending, environment, hasPrivateNetworks ? await enterPrivateNetwork(ending) : []);
}

describe(
  'the blocks of every page run',
  { concurrency: hasPrivateNetworks ? availableParallelism() : 1 },
  () => {
    test('some pages have blocks', () => assert.ok(pages.length > 5, String(pages.length)));
    for (const { page, blocks } of pages)
      test(page, async (t) => {
        const shell = await openShell(t);
        for (const block of blocks)
          await t.test(
            `${page}:${block.line} ${block.text.split('\n')[0]}`,
            { skip: skipReason(block) ?? false },
            async () => void (await shell.run(block)),
          );
        shell.checkGoingOn();
      });
  },
);
