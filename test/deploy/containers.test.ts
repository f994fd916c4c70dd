/**
 * The image and the compose file, as far as they can be read: no Docker engine runs here, so that neither is built or
 * started. NATS' configuration is read by NATS itself.
 */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readVersion } from '../../src/lib/package-version.ts';
import { checkout, readFromRoot } from '../support/checkout.ts';
import { toolPath } from '../support/debian-tools.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { deployedPath, readDeployed, readYaml, settingsOf, substitute } from './deployed-files.ts';

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: object;
  readonly stop_grace_period?: string;
  readonly restart?: string;
  readonly ulimits?: { readonly core?: number };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
}

/** Name, then a version that names one release: no `latest`, and no number alone. */
const pinned = /^[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*$/;

interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** Continued lines as one. */
function readInstructions(text: string): Instruction[] {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n');
  return lines
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name, rest] = /^([A-Z]+)\s+(.+)$/.exec(line) ?? assert.fail(`no instruction: ${line}`);
      return { name: name ?? '', text: (rest ?? '').replace(/\s+/g, ' ').trim() };
    });
}

const dockerfile = readInstructions(readDeployed('docker/Dockerfile'));
const stageAt = dockerfile.findLastIndex(({ name }) => name === 'FROM');
/** What is run; the stages before it make what it has. */
const image = dockerfile.slice(stageAt);

function textsOf(instructions: readonly Instruction[], name: string): string[] {
  return instructions.filter((one) => one.name === name).map(({ text }) => text);
}

const imageEnvironment = Object.fromEntries(
  textsOf(image, 'ENV').flatMap((text) => text.split(' ').map((pair) => pair.split('=') as [string, string])),
);
const imageSettings = settingsOf(imageEnvironment);

const compose = readYaml('docker/compose.yaml') as Compose;
const composeSecrets = { NATS_PASSWORD: 'p-for-tests' };
const nodes = Object.entries(compose.services).filter(([, { build }]) => build !== undefined);

/** As the container has them: those of the image, and of the compose file over them. */
function settingsOfNode({ environment = {} }: Service): ReturnType<typeof settingsOf> {
  const given = Object.entries(environment).map(([name, value]) => [name, substitute(value, composeSecrets)]);
  return settingsOf({ ...imageEnvironment, ...Object.fromEntries(given) });
}

test('every stage begins with one release of Node, the same', () => {
  const bases = textsOf(dockerfile, 'FROM')
    .slice(0, -1)
    .map((text) => text.split(' ')[0] ?? '');
  assert.equal(textsOf(image, 'FROM')[0], 'licensed-${FFMPEG}');
  assert.equal(new Set(bases).size, 1);
  assert.match(bases[0] ?? '', pinned);
});

test('the image runs as somebody who is not root, and tells how it is', () => {
  assert.equal(textsOf(image, 'USER').at(-1), 'node');
  assert.equal(textsOf(image, 'HEALTHCHECK').length, 1);
  assert.ok(textsOf(image, 'HEALTHCHECK')[0]?.includes('/livez'));
});

test('no node leaves a core, which would have every secret in it', () => {
  for (const [name, { ulimits }] of nodes) assert.equal(ulimits?.core, 0, name);
});

test('no shell stands between a signal and the server', () => {
  for (const name of ['ENTRYPOINT', 'CMD']) {
    const [form = ''] = textsOf(image, name);
    assert.ok(Array.isArray(JSON.parse(form)), form);
  }
  const [check = ''] = textsOf(image, 'HEALTHCHECK');
  assert.ok(Array.isArray(JSON.parse(check.slice(check.indexOf('['))) as unknown), check);
});

test('what the image copies is there, and let in by its .dockerignore', () => {
  const letIn = new Set(
    [...readDeployed('docker/Dockerfile.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path]) => path),
  );
  const copied = textsOf(dockerfile, 'COPY')
    .filter((text) => !text.startsWith('--from='))
    .flatMap((text) => text.split(' ').slice(0, -1));
  assert.ok(copied.length > 5);
  for (const path of copied) {
    assert.ok(existsSync(new URL(path, checkout)), path);
    assert.ok(letIn.has(path), `${path} is not let in`);
  }
});

test('stages name each other, and packages come from the lock file', () => {
  const stages = new Set(textsOf(dockerfile, 'FROM').map((text) => / AS ([\w-]+)$/.exec(text)?.[1]));
  for (const text of textsOf(dockerfile, 'COPY')) {
    const [, from] = /^--from=(\w+) /.exec(text) ?? [];
    assert.ok(from === undefined || stages.has(from), text);
  }
  assert.doesNotMatch(readDeployed('docker/Dockerfile'), /npm (?:install|i)\b/);
});

test('the image exposes the ports that it listens on', () => {
  const { api, sleep, signal, media, ops } = imageSettings;
  const ports = [api, sleep, signal, media, ops].map(({ listen }) => String(listen.port));
  const udp = `${media.listen.port}/udp`;
  assert.deepEqual(new Set(textsOf(image, 'EXPOSE')[0]?.split(' ')), new Set([...ports, udp]));
  assert.equal(textsOf(image, 'VOLUME')[0], imageSettings.data.dir);
});

test('every image of the compose file is one release, ours the present one', () => {
  for (const { image: name } of Object.values(compose.services)) assert.match(name, pinned);
  for (const [, { image: name }] of nodes) assert.equal(name, `reveille:${readVersion()}`);
  assert.ok(readDeployed('docker/Dockerfile').includes(`-t reveille:${readVersion()}`));
});

test('what the compose file refers to is there', () => {
  for (const [name, { volumes = [], build, depends_on: needs = [] }] of Object.entries(compose.services)) {
    for (const volume of volumes) {
      const [source = ''] = volume.split(':');
      if (source.startsWith('.'))
        assert.ok(existsSync(join(deployedPath('docker'), source)), `${name}: ${source}`);
      else assert.ok(source in compose.volumes, `${name}: no volume ${source}`);
    }
    if (build !== undefined)
      assert.ok(existsSync(join(deployedPath('docker'), build.context, build.dockerfile)), name);
    const others = Array.isArray(needs) ? (needs as string[]) : Object.keys(needs);
    for (const other of others) assert.ok(other in compose.services, `${name} needs ${other}`);
    const healthy = Array.isArray(needs) ? [] : others;
    for (const other of healthy)
      assert.ok(compose.services[other]?.healthcheck !== undefined || nodes.some(([node]) => node === other));
  }
  const used = Object.values(compose.services).flatMap(({ volumes = [] }) =>
    volumes.map((one) => one.split(':')[0]),
  );
  assert.deepEqual(
    new Set(used.filter((source) => !source?.startsWith('.'))),
    new Set(Object.keys(compose.volumes)),
  );
});

test('the nodes have settings that a server takes, names and addresses of their own, and one NATS', () => {
  assert.equal(nodes.length, 2);
  const settings = nodes.map(([, service]) => settingsOfNode(service));
  const distinct = (of: (one: (typeof settings)[number]) => unknown): number =>
    new Set(settings.map((one) => JSON.stringify(of(one)))).size;
  assert.deepEqual(
    [distinct(({ cluster }) => cluster.node_name), distinct(({ media }) => media.advertise)],
    [nodes.length, nodes.length],
  );
  assert.equal(
    distinct(({ cluster }) => cluster.nats_url),
    1,
  );
  assert.equal(
    distinct(({ calls }) => calls.token_keys_file),
    1,
  );
  const nats = new URL(settings[0]?.cluster.nats_url ?? '');
  assert.ok(nats.hostname in compose.services, nats.hostname);
});

test('each listener of a node has a port of this machine, and the one of operators is on loopback alone', () => {
  const taken = new Set<string>();
  for (const [name, service] of nodes) {
    const { api, sleep, signal, media, ops } = settingsOfNode(service);
    const published = (service.ports ?? []).map((port) => port.split(':'));
    for (const { listen } of [api, sleep, signal, media])
      assert.ok(
        published.some((port) => port.length === 2 && port[1] === String(listen.port)),
        name,
      );
    // It is told as it is.
    assert.ok(service.ports?.includes(`${media.listen.port}:${media.listen.port}/udp`), name);
    assert.ok(
      published.some(([host, , port]) => host === '127.0.0.1' && port === String(ops.listen.port)),
      name,
    );
    for (const port of service.ports ?? []) {
      const [outside = ''] = port.replace('127.0.0.1:', '').split(':');
      const key = port.endsWith('/udp') ? `${outside}/udp` : outside;
      assert.ok(!taken.has(key), `port ${key} is taken twice`);
      taken.add(key);
    }
    const patienceMs = Number.parseInt(service.stop_grace_period ?? '', 10) * 1000;
    assert.ok(patienceMs > sleep.drain_deadline_ms, name);
    assert.equal(service.restart, 'unless-stopped');
  }
});

test('Prometheus scrapes every node at its ops listener', () => {
  const { scrape_configs: scrapes } = readYaml('prometheus/prometheus.yml') as {
    scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
  };
  const targets = scrapes.flatMap(({ static_configs: all }) => all.flatMap((one) => one.targets));
  assert.deepEqual(
    targets.sort(),
    nodes.map(([name, service]) => `${name}:${settingsOfNode(service).ops.listen.port}`).sort(),
  );
  assert.equal(scrapes[0]?.job_name, 'reveille');
});

test('NATS takes its configuration, with the accounts that are mounted beside it', (t) => {
  const folder = temporaryDirectory(t);
  copyFileSync(deployedPath('docker/nats-server.conf'), join(folder, 'nats-server.conf'));
  const mounted = (compose.services['nats']?.volumes ?? []).map((volume) => volume.split(':')[0] ?? '');
  const accounts =
    mounted.find((source) => source.endsWith('nats-accounts.conf')) ?? assert.fail('no accounts');
  assert.ok(!isAbsolute(accounts));
  copyFileSync(join(deployedPath('docker'), accounts), join(folder, 'nats-accounts.conf'));
  const env = { ...process.env, ...composeSecrets, PATH: toolPath };
  const { status, stderr } = spawnSync('nats-server', ['-t', '-c', join(folder, 'nats-server.conf')], {
    env,
  });
  assert.equal(status, 0, stderr.toString());
});

test('deploy is part of the package', () => {
  const { files } = JSON.parse(readFromRoot('package.json')) as { files: string[] };
  assert.ok(files.includes('deploy') && existsSync(fileURLToPath(new URL('deploy', checkout))));
});
