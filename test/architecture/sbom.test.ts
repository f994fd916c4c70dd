/** Checks the bill of materials: every package needed at run time according to the lock file, and no other. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkout, readFromRoot } from '../support/checkout.ts';

const root = fileURLToPath(checkout);

interface License {
  readonly expression?: string;
  readonly license?: { readonly id?: string };
}

interface Bill {
  readonly bomFormat: string;
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly components: readonly {
    readonly 'bom-ref': string;
    readonly name: string;
    readonly hashes?: readonly object[];
    readonly licenses?: readonly License[];
  }[];
}

interface Locked {
  readonly packages: Readonly<
    Record<string, { readonly name?: string; readonly version: string; readonly dev?: true }>
  >;
}

let known: Bill | null = null;

function readBill(): Bill {
  known ??= makeBill();
  return known;
}

function makeBill(): Bill {
  const text = execFileSync('npm', ['run', '-s', 'sbom'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, npm_config_offline: 'true', npm_config_registry: 'http://127.0.0.1:9/' },
    maxBuffer: 16 * 1024 * 1024,
  });
  return JSON.parse(text) as Bill;
}

test('npm run sbom lists every package needed at run time with its hash, without network', () => {
  const { bomFormat, components, dependencies } = readBill();
  const { packages } = JSON.parse(readFileSync(`${root}npm-shrinkwrap.json`, 'utf8')) as Locked;
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

function licenseIds(licenses: readonly License[] = []): string[] {
  return licenses.flatMap(({ expression, license }) => expression?.split(' AND ') ?? license?.id ?? []);
}

test('every package has a license, and the packages with FFmpeg say GPL 3', () => {
  const { components } = readBill();
  for (const { name, licenses } of components) assert.ok(licenseIds(licenses).length > 0, name);
  const gpl = components.filter(({ licenses }) => licenseIds(licenses).includes('GPL-3.0-or-later'));
  assert.ok(gpl.length >= 5);
  assert.ok(gpl.every(({ name }) => name.startsWith('@seydx/node-av-')));
  assert.equal(gpl.length, components.filter(({ name }) => name.startsWith('@seydx/')).length);
});

test("the image's label names every license of what is in it, with FFmpeg and without", () => {
  const stages = readFromRoot('deploy/docker/Dockerfile').split(/^FROM /m);
  const labelOf = (variant: string): string[] => {
    const stage = stages.find((text) => text.includes(` AS licensed-${variant}\n`));
    const [, label = ''] = /^LABEL org\.opencontainers\.image\.licenses="(.+)"$/m.exec(stage ?? '') ?? [];
    return label.split(' AND ');
  };
  const idsOf = (isIn: (name: string) => boolean): Set<string> =>
    new Set([
      'Apache-2.0',
      ...readBill().components.flatMap(({ name, licenses }) => (isIn(name) ? licenseIds(licenses) : [])),
    ]);
  assert.deepEqual(
    new Set(labelOf('yes')),
    idsOf(() => true),
  );
  assert.deepEqual(
    new Set(labelOf('no')),
    idsOf((name) => !/^(?:node-av$|@seydx\/)/.test(name)),
  );
  assert.match(stages.at(-1) ?? '', /^licensed-\$\{FFMPEG\}\n/);
});
