/** Checks the image and the compose file statically: no Docker engine is available here, so neither is built or started. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readVersion } from '../../src/lib/package-version.ts';
import { processStopMsMax } from '../../src/model/limits.ts';
import { edgeStopMsMax } from '../../src/server/site/site-limits.ts';
import { checkout, readFromRoot } from '../support/checkout.ts';
import { overridesOf, parseCommandLine } from './command-line.ts';
import { deployedPath, readDeployed, readYaml, settingsOf, substitute } from './deployed-files.ts';

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[];
  readonly stop_grace_period?: string;
  readonly restart?: string;
  readonly ulimits?: { readonly core?: number };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
}

/** An image name with a full version: neither `latest` nor a single number. */
const pinned = /^[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*$/;

interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** Joins continued lines. */
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
/** The final stage; earlier stages only build its contents. */
const image = dockerfile.slice(stageAt);

function textsOf(instructions: readonly Instruction[], name: string): string[] {
  return instructions.filter((one) => one.name === name).map(({ text }) => text);
}

const imageEnvironment = Object.fromEntries(
  textsOf(image, 'ENV').flatMap((text) => text.split(' ').map((pair) => pair.split('=') as [string, string])),
);
const imageCommand = await parseCommandLine(JSON.parse(textsOf(image, 'CMD')[0] ?? '[]') as string[]);
const imageSettings = settingsOf(imageEnvironment, overridesOf(imageCommand));

const compose = readYaml('docker/compose.yaml') as Compose;
const server = compose.services['reveille'] ?? assert.fail('no server');

/** Settings of the container: those of the image, overridden by the compose file. */
const serverSettings = settingsOf(
  {
    ...imageEnvironment,
    ...Object.fromEntries(
      Object.entries(server.environment ?? {}).map(([name, value]) => [name, substitute(value, {})]),
    ),
  },
  overridesOf(imageCommand),
);

test('every stage starts from the same release of Node', () => {
  const bases = textsOf(dockerfile, 'FROM')
    .slice(0, -1)
    .map((text) => text.split(' ')[0] ?? '');
  assert.equal(textsOf(image, 'FROM')[0], 'licensed-${FFMPEG}');
  assert.equal(new Set(bases).size, 1);
  assert.match(bases[0] ?? '', pinned);
});

test('the image runs as a user other than root, and has a health check', () => {
  assert.equal(textsOf(image, 'USER').at(-1), 'node');
  assert.equal(textsOf(image, 'HEALTHCHECK').length, 1);
  assert.ok(textsOf(image, 'HEALTHCHECK')[0]?.includes('/livez'));
});

test('the image serves with two edges and two fronts', () => {
  assert.equal(imageSettings.sleep.edges, 2);
  assert.equal(imageSettings.api.fronts, 2);
});

test('the server writes no core dump, which would contain every secret', () => {
  assert.equal(server.ulimits?.core, 0);
});

test('no shell stands between a signal and the server', () => {
  for (const name of ['ENTRYPOINT', 'CMD']) {
    const [form = ''] = textsOf(image, name);
    assert.ok(Array.isArray(JSON.parse(form)), form);
  }
  const [check = ''] = textsOf(image, 'HEALTHCHECK');
  assert.ok(Array.isArray(JSON.parse(check.slice(check.indexOf('['))) as unknown), check);
});

test('files that the image copies exist, and its .dockerignore admits them', () => {
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

test('stages refer to existing stages, and packages come from the lock file', () => {
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

test('every image of the compose file has a fixed release, ours the current one', () => {
  for (const { image: name } of Object.values(compose.services)) assert.match(name, pinned);
  assert.equal(server.image, `reveille:${readVersion()}`);
  assert.ok(readDeployed('docker/Dockerfile').includes(`-t reveille:${readVersion()}`));
});

test('files, volumes and services that the compose file refers to exist', () => {
  for (const [name, { volumes = [], build, depends_on: others = [] }] of Object.entries(compose.services)) {
    for (const volume of volumes) {
      const [source = ''] = volume.split(':');
      if (source.startsWith('.'))
        assert.ok(existsSync(join(deployedPath('docker'), source)), `${name}: ${source}`);
      else assert.ok(source in compose.volumes, `${name}: no volume ${source}`);
    }
    if (build !== undefined)
      assert.ok(existsSync(join(deployedPath('docker'), build.context, build.dockerfile)), name);
    for (const other of others) assert.ok(other in compose.services, `${name} needs ${other}`);
  }
  const used = Object.values(compose.services).flatMap(({ volumes = [] }) =>
    volumes.map((one) => one.split(':')[0]),
  );
  assert.deepEqual(
    new Set(used.filter((source) => !source?.startsWith('.'))),
    new Set(Object.keys(compose.volumes)),
  );
});

test('each listener has a port of the host, and the ops port is only on loopback', () => {
  const { api, sleep, signal, media, ops, data } = serverSettings;
  const ports = [api, sleep, signal, media].map(({ listen: { port } }) => `${port}:${port}`);
  // WebRTC announces its port number, so both sides have to be equal.
  const expected = [
    ...ports,
    `${media.listen.port}:${media.listen.port}/udp`,
    `127.0.0.1:${ops.listen.port}:${ops.listen.port}`,
  ];
  assert.deepEqual([...(server.ports ?? [])].sort(), expected.sort());
  assert.ok(server.volumes?.some((volume) => volume.endsWith(`:${data.dir}`)));
});

test("a drain ends before Docker's stop timeout", () => {
  const patienceMs = Number.parseInt(server.stop_grace_period ?? '', 10) * 1000;
  assert.ok(patienceMs > serverSettings.sleep.drain_deadline_ms + processStopMsMax + edgeStopMsMax);
  assert.equal(server.restart, 'unless-stopped');
});

test('Prometheus scrapes the server at its ops listener', () => {
  const { scrape_configs: scrapes } = readYaml('prometheus/prometheus.yml') as {
    scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
  };
  const targets = scrapes.flatMap(({ static_configs: all }) => all.flatMap((one) => one.targets));
  assert.deepEqual(targets, [`reveille:${serverSettings.ops.listen.port}`]);
  assert.equal(scrapes[0]?.job_name, 'reveille');
});

test('deploy is part of the package', () => {
  const { files } = JSON.parse(readFromRoot('package.json')) as { files: string[] };
  assert.ok(files.includes('deploy') && existsSync(fileURLToPath(new URL('deploy', checkout))));
});
