/** The bill of materials: what runs, by the lock file, and nothing of what only builds and tests. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkout } from '../support/checkout.ts';

const root = fileURLToPath(checkout);

interface Bill {
  readonly bomFormat: string;
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly components: readonly { readonly 'bom-ref': string; readonly hashes?: readonly object[] }[];
}

interface Locked {
  readonly packages: Readonly<
    Record<string, { readonly name?: string; readonly version: string; readonly dev?: true }>
  >;
}

test('npm run sbom writes every package of the lock file that runs, by its hash, without network', () => {
  const text = execFileSync('npm', ['run', '-s', 'sbom'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, npm_config_offline: 'true', npm_config_registry: 'http://127.0.0.1:9/' },
    maxBuffer: 16 * 1024 * 1024,
  });
  const { bomFormat, components, dependencies } = JSON.parse(text) as Bill;
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8')) as Locked;
  const expected = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { name, version }]) => `${name ?? path.split('node_modules/').at(-1)}@${version}`);
  assert.equal(bomFormat, 'CycloneDX');
  assert.ok(expected.length > 0);
  const ids = new Set(expected);
  assert.deepEqual(new Set(components.map((component) => component['bom-ref'])), ids);
  assert.ok(components.every(({ hashes }) => hashes?.length === 1));
  const named = new Set(dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]));
  assert.equal(named.size, ids.size + 1, 'and who needs it, ourselves first');
});
