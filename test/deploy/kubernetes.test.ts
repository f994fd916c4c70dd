/**
 * Checks the Kubernetes manifests: fields against types of its API (version 1.30), and the consistency of selectors, ports,
 * volumes, secrets and settings. Quantities and admission controllers are not checked: no cluster is available here.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { processStopMsMax } from '../../src/model/limits.ts';
import type { Settings } from '../../src/server/config/settings-schema.ts';
import { edgeStopMsMax } from '../../src/server/site/site-limits.ts';
import { checkout } from '../support/checkout.ts';
import { overridesOf, parseCommandLine } from './command-line.ts';
import { namesIn, readDeployed, readDocuments, settingsOf } from './deployed-files.ts';

interface Labelled {
  readonly 'app.kubernetes.io/name': string;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: ValueSource;
  }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext: { readonly readOnlyRootFilesystem?: boolean };
  readonly [probe: `${string}Probe`]: { readonly httpGet?: { readonly path: string; readonly port: string } };
}

interface ValueSource {
  readonly secretKeyRef?: { readonly name: string };
}

interface PodSpec {
  readonly terminationGracePeriodSeconds?: number;
  readonly enableServiceLinks: boolean;
  readonly securityContext: { readonly runAsNonRoot: boolean };
  readonly containers: readonly [Container];
  readonly volumes: readonly { readonly name: string }[];
}

interface TypedManifest {
  readonly apiVersion: string;
  readonly kind: string;
}

interface Manifest extends TypedManifest {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly serviceName?: string;
    readonly replicas?: number;
    readonly selector?: Labelled | { readonly matchLabels: Labelled };
    readonly podSelector?: { readonly matchLabels: Labelled };
    readonly template?: { readonly metadata: { readonly labels: Labelled }; readonly spec: PodSpec };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly ports?: readonly { readonly targetPort: string }[];
    readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[];
  };
}

function readFolder(folder: string): Manifest[] {
  const files = namesIn(folder).filter((name) => name.endsWith('.yaml'));
  return files.flatMap((file) => readDocuments(`${folder}/${file}`)) as Manifest[];
}

const manifests = [...readFolder('kubernetes'), ...readFolder('kubernetes/edges')];

function ofKind(kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

const sets = [...ofKind('StatefulSet'), ...ofKind('Deployment')].map(({ metadata, spec }) => {
  const { template } = spec;
  assert.ok(template !== undefined);
  return {
    metadata,
    spec,
    labels: template.metadata.labels,
    pod: template.spec,
    container: template.spec.containers[0],
  };
});

function setNamed(name: string): (typeof sets)[number] {
  return sets.find(({ metadata }) => metadata.name === name) ?? assert.fail(`no ${name}`);
}

const core = setNamed('reveille');
const edges = setNamed('reveille-edge');

function setOf(selector: Labelled | { readonly matchLabels: Labelled } | undefined): (typeof sets)[number] {
  const labels = selector !== undefined && 'matchLabels' in selector ? selector.matchLabels : selector;
  const name = labels?.['app.kubernetes.io/name'];
  return (
    sets.find((set) => set.labels['app.kubernetes.io/name'] === name) ?? assert.fail(`nobody is ${name}`)
  );
}

/** Compiler errors when manifests are typed as their kinds. */
function findTypeErrors(t: TestContext, given: readonly TypedManifest[]): string {
  // Below the checkout, so that the compiler finds the types.
  const build = fileURLToPath(new URL('.test-build/', checkout));
  mkdirSync(build, { recursive: true });
  const folder = mkdtempSync(join(build, 'manifests-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const lines = given.map((manifest, n) => {
    const group = manifest.apiVersion === 'v1' ? 'core/v1' : manifest.apiVersion.replace('.k8s.io', '');
    const value = JSON.stringify(manifest);
    return `import type { ${manifest.kind} as Kind${n} } from 'kubernetes-types/${group}';\nexport const manifest${n}: Kind${n} = ${value};\n`;
  });
  const file = join(folder, 'manifests.ts');
  writeFileSync(file, lines.join(''));
  const compiler = fileURLToPath(new URL('node_modules/.bin/tsc', checkout));
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
  ];
  const { status, stdout } = spawnSync(compiler, [...options, '--types', '', file], { encoding: 'utf8' });
  return status === 0 ? '' : stdout;
}

test('there are manifests', () => assert.ok(manifests.length > 8, String(manifests.length)));

test('every field belongs to the Kubernetes API and has its type', (t) => {
  assert.equal(findTypeErrors(t, manifests), '');
});

test('canary: a misspelled, mistyped or missing field is detected', (t) => {
  const set = ofKind('StatefulSet')[0] ?? assert.fail('no set');
  const { selector: _, ...unselective } = set.spec;
  const wrong: readonly (readonly [spec: object, complaint: RegExp])[] = [
    [{ ...set.spec, replica: 3 }, /"replica"' does not exist/],
    [{ ...set.spec, replicas: 'three' }, /'string' is not assignable to type 'number'/],
    [unselective, /'selector' is missing/],
  ];
  for (const [spec, complaint] of wrong) {
    const changed = { ...set, spec };
    assert.match(findTypeErrors(t, [changed]), complaint);
  }
});

test('everything is in one namespace, which the manifests create', () => {
  const [namespace] = ofKind('Namespace');
  const others = manifests.filter((one) => one !== namespace);
  assert.deepEqual(
    new Set(others.map(({ metadata }) => metadata.namespace)),
    new Set([namespace?.metadata.name]),
  );
});

test('services, budgets and policies select existing pods, and name existing ports', () => {
  for (const { metadata, spec } of [
    ...ofKind('Service'),
    ...ofKind('PodDisruptionBudget'),
    ...ofKind('NetworkPolicy'),
  ]) {
    const { container } = setOf(spec.podSelector ?? spec.selector);
    const named = new Set(container.ports.map(({ name }) => name));
    const asked = [
      ...(spec.ports ?? []).map(({ targetPort }) => targetPort),
      ...(spec.ingress ?? []).flatMap(({ ports }) => ports.map(({ port }) => port)),
    ];
    for (const port of asked) assert.ok(named.has(port), `${metadata.name}: no port ${port}`);
  }
  for (const { spec, labels } of sets) {
    assert.deepEqual(spec.selector, { matchLabels: labels });
    if (spec.serviceName !== undefined)
      assert.ok(ofKind('Service').some(({ metadata }) => metadata.name === spec.serviceName));
  }
});

test('pods run as a user other than root, and write only to their volumes', () => {
  for (const { pod, container, spec } of sets) {
    assert.equal(pod.securityContext.runAsNonRoot, true);
    assert.equal(container.securityContext.readOnlyRootFilesystem, true);
    assert.match(container.image, /:\d+\.\d+\.\d+/);
    const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name);
    const there = new Set([...pod.volumes.map(({ name }) => name), ...claims]);
    assert.deepEqual(new Set(container.volumeMounts.map(({ name }) => name)), there);
  }
});

test('service variables of Kubernetes do not reach the server, which refuses unknown variables', () => {
  for (const { pod } of sets) assert.equal(pod.enableServiceLinks, false);
  assert.throws(() => settingsOf({ REVEILLE_SLEEP_SERVICE_HOST: '10.0.0.1' }));
});

test('the server is probed at the ops listener', () => {
  const { container } = core;
  assert.deepEqual(container['livenessProbe']?.httpGet, { path: '/livez', port: 'ops' });
  assert.deepEqual(container['startupProbe']?.httpGet, { path: '/livez', port: 'ops' });
  assert.deepEqual(container['readinessProbe']?.httpGet, { path: '/readyz', port: 'ops' });
});

/** Settings of a pod: those of the image, its config maps and variables, and the options of its command. */
async function settingsIn({ container }: (typeof sets)[number]): Promise<Settings> {
  const configured = (container.envFrom ?? []).flatMap(({ configMapRef }) => {
    const map = ofKind('ConfigMap').find(({ metadata }) => metadata.name === configMapRef.name);
    return Object.entries(map?.data ?? assert.fail(`no config map ${configMapRef.name}`));
  });
  const given = (container.env ?? []).map(({ name, value }) => [
    name,
    value?.replace('$(HOST_ADDRESS)', '192.0.2.1') ?? 'reveille-0',
  ]);
  const image = [...readDeployed('docker/Dockerfile').matchAll(/(REVEILLE_\w+)=(\S+)/g)];
  const variables = [...image.map(([, name, value]) => [name, value]), ...configured, ...given];
  const command = await parseCommandLine(container.args);
  return settingsOf(Object.fromEntries(variables), overridesOf(command));
}

function assertMounted({ container }: (typeof sets)[number], paths: readonly (string | null)[]): void {
  const mounts = container.volumeMounts.map(({ mountPath }) => `${mountPath}/`);
  for (const path of paths)
    assert.ok(
      mounts.some((mount) => path?.startsWith(mount)),
      String(path),
    );
}

function portNamed({ container }: (typeof sets)[number], named: string): number | undefined {
  return container.ports.find(({ name }) => name === named)?.containerPort;
}

test('the server has valid settings, two edges, two fronts, and existing files and ports', async () => {
  const { api, sleep, signal, media, ops, data, edges: gate } = await settingsIn(core);
  assert.equal(core.spec.replicas, 1);
  assert.equal(sleep.edges, 2);
  assert.equal(api.fronts, 2);
  assertMounted(core, [api.tls_cert_file, api.tls_key_file, gate.key_file, data.dir]);
  const listening = { api, sleep, signal, media, ops, edges: gate };
  for (const [name, { listen }] of Object.entries(listening))
    assert.equal(portNamed(core, name), listen?.port, name);
  const patienceMs = (core.pod.terminationGracePeriodSeconds ?? 0) * 1000;
  assert.ok(patienceMs > 5000 + sleep.drain_deadline_ms + processStopMsMax + edgeStopMsMax);
});

test('edges in separate pods have the key and address of the core, and its address for devices', async () => {
  const { edge, sleep } = await settingsIn(edges);
  const server = await settingsIn(core);
  assertMounted(edges, [edge.key_file]);
  assert.equal(edge.key_file, server.edges.key_file);
  assert.deepEqual(edge.core, {
    host: `${core.metadata.name}-0.${core.spec.serviceName}`,
    port: server.edges.listen?.port,
  });
  assert.equal(portNamed(edges, 'sleep'), edge.listen.port);
  assert.deepEqual(edge.advertise, server.sleep.advertise);
  assert.ok((edges.pod.terminationGracePeriodSeconds ?? 0) * 1000 > 5000 + sleep.drain_deadline_ms);
});

test('a line of deploy/README.md creates every secret that a pod needs', () => {
  const page = readDeployed('README.md');
  const text = JSON.stringify(sets);
  const named = [
    ...text.matchAll(/"(?:secretKeyRef|configMap)":\{"name":"([\w-]+)"|"secretName":"([\w-]+)"/g),
  ];
  const names = new Set(named.map(([, one, other]) => one ?? other ?? ''));
  assert.ok(names.size >= 2);
  for (const name of names)
    assert.match(page, new RegExp(`create (?:secret \\w+|configmap) ${name}\\b`), name);
});
