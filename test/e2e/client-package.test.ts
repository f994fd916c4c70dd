/** The client package as backends use it: packed, installed, compiled for each module system, and run. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { checkout } from '../support/checkout.ts';
import { writeClientPackage } from '../support/client-package.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';

const run = promisify(execFile);
const modules = fileURLToPath(new URL('node_modules/', checkout));
const packedBytesMax = 200_000;

/** One source for both module systems: its imports must work in both. */
const program = `
import { ReveilleClient, ReveilleUnreachableError, type WakeupData } from 'reveille-client';

const { ORIGIN: origin = '', CREDENTIAL = '' } = process.env;

async function main(): Promise<void> {
  const client = new ReveilleClient({ origin, credential: JSON.parse(CREDENTIAL) });
  const woken = await client.wake('SLEEPING01');
  // @ts-expect-error: data exist only after a check for success.
  void woken.data.status;
  // @ts-expect-error: a success has no code.
  void woken.code;
  if (!woken.ok) throw new Error(woken.message);
  const data: WakeupData = woken.data;
  const missing = await client.connectivity('NOBODY');
  client.close();

  const nowhere = new ReveilleClient({ origin: 'http://127.0.0.1:1', credential: JSON.parse(CREDENTIAL), retry: { attemptsMax: 1 } });
  const isUnreachable = await nowhere.callStatus('X').catch((error) => error instanceof ReveilleUnreachableError);
  console.log(JSON.stringify([data.status, missing.ok || missing.code, isUnreachable]));
}

void main();
`;

/** Signs the test vectors of the package at their times, without a server. */
const signer = `
const { ReveilleClient } = require('reveille-client');
const { credential, signed_at, vectors } = require('reveille-client/signing-vectors.json');

async function main() {
  const options = {
    origin: 'http://nowhere.example',
    credential: { accessKeyId: credential.access_key_id, secretKey: credential.secret_key, appId: credential.app_id },
    clock: { wallMs: () => Date.parse(signed_at), monotonicMs: () => 0, after: () => () => undefined },
  };
  let sent;
  const transport = { send: async (request) => ((sent = request), { status: 200, headers: {}, body: Buffer.from('') }), close() {} };
  const client = new ReveilleClient({ ...options, transport });
  const results = [];
  for (const { method, path, raw_query: rawQuery, body, header_set: headerSet, headers } of vectors) {
    await client.request({ method, path, rawQuery, headerSet, body: body === '' ? null : Buffer.from(body) });
    results.push(sent.headers.Authorization === headers.Authorization);
  }
  console.log(JSON.stringify(results));
}
void main();
`;

const folder = temporaryDirectory({ after });

let server: TestServer;
let installed: string;
let packed: { readonly size: number; readonly filename: string };
before(async () => {
  server = await startTestServer({ overrides: ['wakeup.device_burst=10'] });
  await writeClientPackage(join(folder, 'package'));
  const { stdout } = await run('npm', ['pack', '--json', './package'], { cwd: folder });
  [packed] = JSON.parse(stdout) as [typeof packed];
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const offline = ['install', '--offline', '--no-audit', '--no-fund', `./${packed.filename}`];
  await run('npm', offline, { cwd: folder });
  installed = join(folder, 'node_modules', 'reveille-client');
  mkdirSync(join(folder, 'node_modules', '@types'));
  for (const name of ['@types/node', 'undici-types'])
    symlinkSync(join(modules, name), join(folder, 'node_modules', name));
  for (const name of ['use.mts', 'use.cts']) writeFileSync(join(folder, name), program);
  writeFileSync(join(folder, 'sign.cjs'), signer);
});
after(() => server.stop());

test('the package is small, has no dependencies, and describes itself', () => {
  assert.ok(packed.size < packedBytesMax, `${packed.size} bytes`);
  assert.deepEqual(Object.keys(installedPackages()), ['node_modules/reveille-client']);
  const own = readJson(join(installed, 'package.json'));
  const whole = readJson(fileURLToPath(new URL('package.json', checkout)));
  for (const name of ['version', 'license']) assert.deepEqual(own[name], whole[name]);
  for (const name of ['dependencies', 'peerDependencies', 'optionalDependencies', 'scripts'])
    assert.equal(own[name], undefined);
  assert.match(readFileSync(join(installed, 'LICENSE'), 'utf8'), /Apache License/);
  assert.match(readFileSync(join(installed, 'THIRD-PARTY-LICENSES'), 'utf8'), /^uuid \d/m);
});

test('all targets of links in its pages are included', () => {
  const pages = readdirSync(installed).filter((name) => name.endsWith('.md'));
  const links = pages.flatMap((page) =>
    Array.from(
      readFileSync(join(installed, page), 'utf8').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g),
      ([, link = '']) => link,
    ),
  );
  assert.ok(links.includes('signing.md'), links.join());
  assert.deepEqual(
    links.filter((link) => !existsSync(join(installed, link))),
    [],
  );
});

const resolutions = {
  node16: { module: 'node16', files: ['use.mts', 'use.cts'] },
  nodenext: { module: 'nodenext', files: ['use.mts', 'use.cts'] },
  bundler: { module: 'esnext', moduleResolution: 'bundler', files: ['use.mts'] },
  commonjs: { module: 'commonjs', files: ['use.cts'] },
};
for (const [name, { files, ...options }] of Object.entries(resolutions))
  test(`TypeScript resolves it with ${name}, and the compiled program wakes a device`, async (t) => {
    const module = await server.module('SLEEPING01');
    t.after(() => module.close());
    const out = join(folder, name);
    const compilerOptions = { ...options, target: 'es2023', strict: true, types: ['node'], outDir: out };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    await compile();
    const env = {
      ...process.env,
      ORIGIN: `http://127.0.0.1:${server.ports.api}`,
      CREDENTIAL: JSON.stringify(testCredentials.all),
    };
    for (const file of readdirSync(out)) {
      const { stdout } = await run(process.execPath, [join(out, file)], { env });
      assert.deepEqual(JSON.parse(stdout), ['accepted', 40403, true], file);
    }
  });

test('its signatures match its test vectors', async () => {
  const { stdout } = await run(process.execPath, [join(folder, 'sign.cjs')]);
  assert.deepEqual(
    JSON.parse(stdout),
    Array.from({ length: 12 }, () => true),
  );
});

/** Rejects with the errors of the compiler, which also checks declarations. */
async function compile(): Promise<void> {
  try {
    await run(join(modules, '.bin', 'tsc'), ['-p', folder]);
  } catch (error) {
    assert.fail((error as { stdout: string }).stdout);
  }
}

function installedPackages(): object {
  return readJson(join(folder, 'node_modules', '.package-lock.json'))['packages'] as object;
}

function readJson(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
}
