/** Checks the systemd units: systemd parses them, media process and edge are sandboxed, and their addresses and keys agree. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { descriptorsReserved, frontEndReadBytes, processStopMsMax } from '../../src/model/limits.ts';
import {
  mediaHeapGrowthPercent,
  mediaHeapMebibytesMax,
  mediaSemiSpaceMebibytesMax,
} from '../../src/model/media/decoding-limits.ts';
import { acceptBacklog } from '../../src/lib/accept-queue.ts';
import { coreStartMsMax, edgeStopMsMax } from '../../src/server/site/site-limits.ts';
import { runTool } from '../support/debian-tools.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { overridesOf, parseCommandLine } from './command-line.ts';
import { deployedPath, namesIn, readDeployed, settingsOf } from './deployed-files.ts';
import { environmentOf, lastOf, parseUnit, type UnitFile } from './unit-file.ts';

const units = namesIn('systemd').filter((name) => name.endsWith('.service'));
const server = parseUnit(readDeployed('systemd/reveille.service'));
const media = parseUnit(readDeployed('systemd/reveille-media.service'));
const edge = parseUnit(readDeployed('systemd/reveille-edge.service'));
const dropIn = parseUnit(readDeployed('systemd/reveille.service.d/media-elsewhere.conf'));

/** Maximum exposure in tenths, as `systemd-analyze security` reports it: 100 is a service without any restriction. */
const exposureMax: Readonly<Record<string, number>> = {
  'reveille.service': 16,
  'reveille-edge.service': 13,
  'reveille-media.service': 13,
};

async function verify(file: string): Promise<void> {
  await runTool('systemd-analyze', ['verify', '--man=no', file]);
}

/** Rejects when the exposure exceeds `max`. */
async function measureExposure(file: string, max: number): Promise<void> {
  const options = ['security', '--offline=true', `--threshold=${max}`, '--no-pager'];
  await runTool('systemd-analyze', [...options, file]);
}

/** Copies the units and changes one of them. */
function changed(t: Ending, unit: string, change: (text: string) => string): string {
  const folder = temporaryDirectory(t);
  cpSync(deployedPath('systemd'), folder, { recursive: true });
  const file = join(folder, unit);
  writeFileSync(file, change(readFileSync(file, 'utf8')));
  return file;
}

/** Arguments after the program's name. */
function argumentsOf(unit: UnitFile, directive: string): string[] {
  const [, args = ''] = / \/opt\/reveille\/dist\/main\.js (.+)$/.exec(lastOf(unit, directive) ?? '') ?? [];
  return args.split(' ');
}

test('there is a unit of the server, one of the media process and one of an edge', () => {
  assert.deepEqual(units, Object.keys(exposureMax).sort());
});

test('the program accepts the command line of every unit', async () => {
  const lines = await Promise.all([
    parseCommandLine(argumentsOf(server, 'Service.ExecStart')),
    parseCommandLine(argumentsOf(server, 'Service.ExecReload')),
    parseCommandLine(argumentsOf(media, 'Service.ExecStart')),
    parseCommandLine(argumentsOf(edge, 'Service.ExecStart')),
  ]);
  assert.deepEqual(
    lines.map(({ command }) => command),
    ['serve', 'upgrade', 'serve', 'edge'],
  );
  assert.deepEqual(lines[0]?.options, { edges: '2', fronts: '2' });
});

test('a reload upgrades, and may last as long as a core needs to start', () => {
  assert.deepEqual(
    argumentsOf(server, 'Service.ExecReload').slice(1),
    argumentsOf(server, 'Service.ExecStart').slice(-2),
  );
  const [, minutes = ''] = /^(\d+)min$/.exec(lastOf(server, 'Service.TimeoutStartSec') ?? '') ?? [];
  assert.ok(Number(minutes) * 60_000 > coreStartMsMax);
});

for (const unit of units) {
  // The drop-in lies in the same folder, so systemd reads it too.
  test(`systemd accepts ${unit}`, () => verify(deployedPath(`systemd/${unit}`)));

  test(`${unit} is exposed no more than necessary`, () =>
    measureExposure(deployedPath(`systemd/${unit}`), exposureMax[unit] ?? 0));

  test(`canary: systemd reports a mistake in ${unit}`, async (t) => {
    const file = changed(t, unit, (text) => text.replace('NoNewPrivileges=', 'NoNewPrivilege='));
    await assert.rejects(verify(file), /NoNewPrivilege/);
  });

  test(`canary: a weaker sandbox in ${unit} is detected`, async (t) => {
    const file = changed(t, unit, (text) => text.replace('CapabilityBoundingSet=\n', ''));
    await assert.rejects(measureExposure(file, exposureMax[unit] ?? 0));
  });
}

test("the media process has a user of its own, with the key of the link and no access to the server's files", () => {
  assert.notEqual(lastOf(media, 'Service.User'), lastOf(server, 'Service.User'));
  assert.equal(media.get('Service.StateDirectory'), undefined);
  assert.deepEqual(media.get('Service.LoadCredential'), dropIn.get('Service.LoadCredential'));
  const hidden = lastOf(media, 'Service.InaccessiblePaths') ?? '';
  for (const folder of ['/var/lib/reveille', '/etc/reveille'])
    assert.ok(hidden.split(' ').includes(`-${folder}`), folder);
});

test('no process writes a core dump, which would contain every secret', () => {
  for (const unit of [server, media, edge]) assert.equal(lastOf(unit, 'Service.LimitCORE'), '0');
});

test('the users of the units are created', () => {
  const users = [...readDeployed('systemd/reveille.sysusers.conf').matchAll(/^u (\S+)/gm)].map(
    ([, user]) => user,
  );
  const named = [server, media, edge].map((unit) => lastOf(unit, 'Service.User') ?? '');
  assert.deepEqual(users, named);
  assert.equal(new Set(named).size, named.length);
});

test('an edge has the key of its link, and runs no file of the package', () => {
  assert.equal(edge.get('Service.StateDirectory'), undefined);
  assert.equal(lastOf(edge, 'Service.NoExecPaths'), '/');
  assert.doesNotMatch(lastOf(edge, 'Service.ExecPaths') ?? '', /opt/);
  const environment = { ...environmentOf(edge), REVEILLE_EDGE_CORE: '10.0.0.5:8086' };
  const settings = settingsOf(environment);
  assert.ok(settings.edge.core !== null && settings.edge.listen.host === '0.0.0.0');
  const [credential] = (lastOf(edge, 'Service.LoadCredential') ?? '').split(':');
  assert.equal(settings.edge.key_file, `/run/credentials/${credential}`);
});

test('server and media process have the same link, and valid settings', async () => {
  const overrides = overridesOf(await parseCommandLine(argumentsOf(server, 'Service.ExecStart')));
  const alone = settingsOf(environmentOf(server), overrides);
  const linked = settingsOf(environmentOf(server, dropIn), overrides);
  const remote = settingsOf(environmentOf(media));
  assert.deepEqual([alone.media.process, linked.media.process], ['child', 'elsewhere']);
  assert.deepEqual(linked.media.link_listen, remote.media.link_server);
  assert.equal(linked.media.link_key_file, remote.media.link_key_file);
  assert.equal(`/var/lib/${lastOf(server, 'Service.StateDirectory')}`, alone.data.dir);
});

test("a drain ends before systemd's stop timeout, and an invalid setting causes no restart", () => {
  const { sleep, signal } = settingsOf({});
  const patienceMs = (unit: UnitFile): number => Number(lastOf(unit, 'Service.TimeoutStopSec')) * 1000;
  const drainMs = Math.max(sleep.drain_deadline_ms, signal.drain_deadline_ms);
  assert.ok(patienceMs(server) > drainMs + processStopMsMax + edgeStopMsMax);
  assert.ok(patienceMs(edge) > sleep.drain_deadline_ms);
  for (const unit of [server, media, edge])
    assert.equal(lastOf(unit, 'Service.RestartPreventExitStatus'), '2');
});

test('the kernel settings and limits suffice for the server', () => {
  const sysctl = readDeployed('systemd/60-reveille.sysctl.conf');
  const value = (key: string): string =>
    new RegExp(`^-?${key.replaceAll('.', '\\.')} = (.+)$`, 'm').exec(sysctl)?.[1] ?? assert.fail(key);
  assert.ok(Number(value('net.core.somaxconn')) >= acceptBacklog);
  assert.ok(Number(value('net.ipv4.tcp_rmem').split(' ').at(-1)) < frontEndReadBytes);
  const descriptors = Number(lastOf(server, 'Service.LimitNOFILE'));
  assert.equal(Number(lastOf(edge, 'Service.LimitNOFILE')), descriptors);
  assert.ok(Number(value('fs.nr_open')) >= descriptors && descriptors > 1_000_000 + descriptorsReserved);
});

test('exhausted memory ends the media process before server and edge, and neither can use all memory of the machine', () => {
  const slice = parseUnit(readDeployed('systemd/reveille.slice'));
  const percent = (value: string | null): number => Number(/^(\d+)%$/.exec(value ?? '')?.[1]);
  assert.ok(percent(lastOf(slice, 'Slice.MemoryMax')) < 100);
  assert.ok(percent(lastOf(media, 'Service.MemoryMax')) <= 50);
  for (const unit of [server, media]) {
    assert.equal(lastOf(unit, 'Service.OOMPolicy'), 'continue');
    assert.equal(lastOf(unit, 'Service.Slice'), 'reveille.slice');
  }
  assert.ok(Number(lastOf(media, 'Service.OOMScoreAdjust')) > 0);
  assert.ok(Number(lastOf(edge, 'Service.OOMScoreAdjust')) < 0);
  const options = media.get('Service.Environment') ?? [];
  const heap = [mediaHeapMebibytesMax, mediaSemiSpaceMebibytesMax];
  assert.ok(
    options.includes(`"NODE_OPTIONS=--max-old-space-size=${heap[0]} --max-semi-space-size=${heap[1]}"`),
  );
  const started = lastOf(media, 'Service.ExecStart') ?? '';
  assert.ok(started.includes(` node --heap-growing-percent=${mediaHeapGrowthPercent} `));
});
