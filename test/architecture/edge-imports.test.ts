/** Checks the modules that an edge process loads: few, so that it is small, and nothing native. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { checkout } from '../support/checkout.ts';

interface Loaded {
  /** Our files, from the root. */
  readonly files: readonly string[];
  readonly packages: readonly string[];
}

/** Follows imports of values, as the compiler keeps them. */
async function loadedBy(entry: string): Promise<Loaded> {
  const { metafile } = await build({
    absWorkingDir: fileURLToPath(checkout),
    entryPoints: [entry],
    bundle: true,
    metafile: true,
    write: false,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    outdir: 'unwritten',
    treeShaking: false,
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const packages = imports.filter(({ external }) => external).map(({ path }) => path);
  return {
    files: Object.keys(metafile.inputs),
    packages: [...new Set(packages)].filter((name) => !name.startsWith('node:')).sort(),
  };
}

/** Layers that an edge must not load, and the module that requires uWebSockets.js. */
const foreign =
  /^src\/(?:(?:storage|media|webhooks|cluster|gateways|server|cli)\/|lib\/connections\/uws-binary\.ts$)/;

test('an edge process loads two packages, neither a schema library nor a native module, and no file of a store', async () => {
  const { files, packages } = await loadedBy('src/edge/process/main.ts');
  assert.ok(files.includes('src/edge/listener.ts'));
  assert.deepEqual(packages, ['msgpackr', 'uuid']);
  assert.deepEqual(
    files.filter((file) => foreign.test(file)),
    [],
  );
});

test('the check sees packages and layers', async () => {
  const { files, packages } = await loadedBy('src/server/bootstrap/server.ts');
  for (const name of ['lmdb', 'piscina', 'prom-client', 'zod']) assert.ok(packages.includes(name), name);
  for (const part of [/^src\/storage\/registry\//, /\/uws-binary\.ts$/])
    assert.ok(
      files.some((file) => part.test(file) && foreign.test(file)),
      String(part),
    );
});
