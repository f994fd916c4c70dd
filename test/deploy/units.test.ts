/** The systemd units: systemd reads them, the media process is confined, and both have each other's addresses. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { descriptorsReserved, frontEndReadBytes } from '../../src/model/limits.ts';
import { mediaHeapMebibytesMax } from '../../src/model/media/decoding-limits.ts';
import { acceptBacklog } from '../../src/lib/accept-queue.ts';
import { runTool } from '../support/debian-tools.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { deployedPath, namesIn, readDeployed, settingsOf } from './deployed-files.ts';
import { environmentOf, lastOf, parseUnit } from './unit-file.ts';

const units = namesIn('systemd').filter((name) => name.endsWith('.service'));
const server = parseUnit(readDeployed('systemd/reveille.service'));
const media = parseUnit(readDeployed('systemd/reveille-media.service'));
const dropIn = parseUnit(readDeployed('systemd/reveille.service.d/media-elsewhere.conf'));

/** The most exposure, in tenths, as `systemd-analyze security` counts it: 100 is a service with no bounds. */
const exposureMax: Readonly<Record<string, number>> = {
  'reveille.service': 16,
  'reveille-media.service': 13,
};

async function verify(file: string): Promise<void> {
  await runTool('systemd-analyze', ['verify', '--man=no', file]);
}

/** Rejects when there is more. */
async function measureExposure(file: string, max: number): Promise<void> {
  const options = ['security', '--offline=true', `--threshold=${max}`, '--no-pager'];
  await runTool('systemd-analyze', [...options, file]);
}

/** A copy of the units, one of which is changed. */
function changed(t: Ending, unit: string, change: (text: string) => string): string {
  const folder = temporaryDirectory(t);
  cpSync(deployedPath('systemd'), folder, { recursive: true });
  const file = join(folder, unit);
  writeFileSync(file, change(readFileSync(file, 'utf8')));
  return file;
}

test('there is a unit of the server and one of the media process', () => {
  assert.deepEqual(units, Object.keys(exposureMax).sort());
});

for (const unit of units) {
  // The drop-in stands beside it, and is read with it.
  test(`systemd finds nothing wrong with ${unit}`, () => verify(deployedPath(`systemd/${unit}`)));

  test(`${unit} is exposed no more than it must be`, () =>
    measureExposure(deployedPath(`systemd/${unit}`), exposureMax[unit] ?? 0));

  test(`systemd would see a mistake in ${unit}`, async (t) => {
    const file = changed(t, unit, (text) => text.replace('NoNewPrivileges=', 'NoNewPrivilege='));
    await assert.rejects(verify(file), /NoNewPrivilege/);
  });

  test(`a hole in ${unit} would be seen`, async (t) => {
    const file = changed(t, unit, (text) => text.replace('CapabilityBoundingSet=\n', ''));
    await assert.rejects(measureExposure(file, exposureMax[unit] ?? 0));
  });
}

test('the media process is another user, who holds the key of the link and nothing of the server', () => {
  assert.notEqual(lastOf(media, 'Service.User'), lastOf(server, 'Service.User'));
  assert.equal(media.get('Service.StateDirectory'), undefined);
  assert.deepEqual(media.get('Service.LoadCredential'), dropIn.get('Service.LoadCredential'));
  const hidden = lastOf(media, 'Service.InaccessiblePaths') ?? '';
  for (const folder of ['/var/lib/reveille', '/etc/reveille'])
    assert.ok(hidden.split(' ').includes(`-${folder}`), folder);
});

test('no process leaves a core, which would have every secret in it', () => {
  for (const unit of [server, media]) assert.equal(lastOf(unit, 'Service.LimitCORE'), '0');
});

test('the users of the units are made', () => {
  const users = [...readDeployed('systemd/reveille.sysusers.conf').matchAll(/^u (\S+)/gm)].map(
    ([, user]) => user,
  );
  assert.deepEqual(users, [lastOf(server, 'Service.User'), lastOf(media, 'Service.User')]);
});

test('both units have the same link, and settings that a server takes', () => {
  const alone = settingsOf(environmentOf(server));
  const linked = settingsOf(environmentOf(server, dropIn));
  const remote = settingsOf(environmentOf(media));
  assert.deepEqual([alone.media.process, linked.media.process], ['child', 'elsewhere']);
  assert.deepEqual(linked.media.link_listen, remote.media.link_server);
  assert.equal(linked.media.link_key_file, remote.media.link_key_file);
  assert.equal(`/var/lib/${lastOf(server, 'Service.StateDirectory')}`, alone.data.dir);
});

test('a drain ends before systemd loses patience, and a setting that is wrong is not tried again', () => {
  const { sleep, signal } = settingsOf({});
  const patienceS = Number(lastOf(server, 'Service.TimeoutStopSec'));
  assert.ok(patienceS * 1000 > Math.max(sleep.drain_deadline_ms, signal.drain_deadline_ms));
  for (const unit of [server, media]) assert.equal(lastOf(unit, 'Service.RestartPreventExitStatus'), '2');
});

test('the kernel may be asked for what the server asks for', () => {
  const sysctl = readDeployed('systemd/60-reveille.sysctl.conf');
  const value = (key: string): string =>
    new RegExp(`^-?${key.replaceAll('.', '\\.')} = (.+)$`, 'm').exec(sysctl)?.[1] ?? assert.fail(key);
  assert.ok(Number(value('net.core.somaxconn')) >= acceptBacklog);
  assert.ok(Number(value('net.ipv4.tcp_rmem').split(' ').at(-1)) < frontEndReadBytes);
  const descriptors = Number(lastOf(server, 'Service.LimitNOFILE'));
  assert.ok(Number(value('fs.nr_open')) >= descriptors && descriptors > 1_000_000 + descriptorsReserved);
});

test('memory that is spent ends the media process and not the server, and neither takes all of the machine', () => {
  const slice = parseUnit(readDeployed('systemd/reveille.slice'));
  const percent = (value: string | null): number => Number(/^(\d+)%$/.exec(value ?? '')?.[1]);
  assert.ok(percent(lastOf(slice, 'Slice.MemoryMax')) < 100);
  assert.ok(percent(lastOf(media, 'Service.MemoryMax')) <= 50);
  for (const unit of [server, media]) {
    assert.equal(lastOf(unit, 'Service.OOMPolicy'), 'continue');
    assert.equal(lastOf(unit, 'Service.Slice'), 'reveille.slice');
  }
  assert.ok(Number(lastOf(media, 'Service.OOMScoreAdjust')) > 0);
  const options = media.get('Service.Environment') ?? [];
  assert.ok(options.includes(`NODE_OPTIONS=--max-old-space-size=${mediaHeapMebibytesMax}`));
});
