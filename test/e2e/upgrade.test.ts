/** Upgrades of a real server: no socket closes, no request fails, and a release that does not start changes nothing. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { ApiAnswer } from '../support/api-client.ts';
import { runCli } from '../support/cli-process.ts';
import { askPaced } from '../support/paced-requests.ts';
import { siteDevice, siteRegistry, SiteServer } from '../support/site-server.ts';
import { lastFirst, temporaryDirectory } from '../support/temporary-store.ts';
import { sameRelease, UpgradeSite } from '../support/upgrade-site.ts';

const devices = 60;
const ending = lastFirst({ after });
const upgraded = await UpgradeSite.open(ending, { edges: 2, devices, settings: ['api.fronts=2'] });
const { site } = upgraded;
await upgraded.sleep(devices);
const heartbeats = setInterval(() => {
  for (const module of upgraded.modules) module.heartbeat();
}, 10_000);
ending.after(() => clearInterval(heartbeats));

/**
 * Retries once, as a backend would: the kernel may reset a connection that no core has accepted, and a core closes one whose request takes
 * more than a second to arrive on a busy machine.
 */
async function again(ask: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  return ask().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ECONNRESET') throw error;
    return ask();
  });
}

test('upgrades under load close no sleep session, fail no request, and lose no wakeup', async () => {
  const pids = new Set([await upgraded.corePid()]);
  let isOver = false;
  ending.after(() => void (isOver = true));
  const wakeups = askPaced(
    50,
    () => isOver,
    async (turn) => void (await again(() => upgraded.wakes(turn % devices))),
  );
  // One connection each.
  const queries = askPaced(
    50,
    () => isOver,
    async (turn) => {
      const answer = await again(() => site.newApi().connectivity(siteDevice(turn % devices)));
      assert.equal(answer.status, 200, answer.text);
    },
  );
  const controller = await site.controller(0);
  for (const which of [1, 2]) {
    await upgraded.upgrade(which);
    pids.add(await upgraded.corePid());
    for (const module of upgraded.modules) module.heartbeat();
    await Promise.all(Array.from({ length: devices }, (_, device) => upgraded.wakes(device)));
  }
  await controller.closed;
  isOver = true;
  for (const { asked, failures } of await Promise.all([wakeups, queries])) {
    assert.deepEqual([...failures], []);
    assert.ok(asked > 10, `${asked}`);
  }
  assert.equal(pids.size, 3);
  assert.deepEqual(upgraded.closed, []);
  assert.equal(await upgraded.offlineEvents(), '');
});

test('an upgrade closes an idle connection with its next answer', async () => {
  const caller = site.newApi();
  assert.equal((await caller.connectivity(siteDevice(0))).status, 200);
  const { command } = site.server;
  // Otherwise the library would close it while a slow machine loads the release.
  const keptAlive = setInterval(() => void caller.connectivity(siteDevice(0)), 3000);
  process.kill(site.pid, 'SIGUSR2');
  await command.logged('upgrade: new release loaded', 3).finally(() => clearInterval(keptAlive));
  await wait(2500);
  const { status, headers } = await caller.connectivity(siteDevice(0));
  assert.deepEqual([status, headers.connection, caller.connectionsMade], [200, 'close', 1]);
  await command.logged('upgrade: new release serves', 3);
});

test('a release that does not start, or has wrong settings, leaves the old one serving', async () => {
  const pid = await upgraded.corePid();
  for (const [release, reason] of [
    ['process.exit(3);', /the old release continues: exit code 3/],
    ["console.error('a module is missing'); process.exit(1);", /continues: exit code 1: a module is missing/],
    [`process.argv.push('--set', 'data.dir=/elsewhere'); ${sameRelease}`, /data\.dir has changed/],
  ] as const) {
    upgraded.install(release);
    const { exitCode, stderr } = await upgraded.command();
    assert.equal(exitCode, 1);
    assert.match(stderr, reason);
  }
  assert.equal(await upgraded.corePid(), pid);
  for (let device = 0; device < 8; device++) await upgraded.wakes(device);
  upgraded.install(sameRelease);
  const { exitCode, stdout, stderr } = await upgraded.command();
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /has taken over from/);
  assert.notEqual(await upgraded.corePid(), pid);
  assert.deepEqual(upgraded.closed, []);
});

test('edges are replaced after the core, and the number of closed sessions is shown', async () => {
  const before = await site.processes();
  // Edges report their sessions a few times a second.
  await site.metrics((text) => text.includes(`\nreveille_sleep_sessions ${devices}\n`));
  const asked = await upgraded.command('--edges');
  assert.equal(asked.exitCode, 1);
  assert.match(asked.stderr, new RegExp(`--edges closes ${devices} sleep sessions of 2 edges`));
  const { exitCode, stderr } = await upgraded.command('--edges', '--yes');
  assert.equal(exitCode, 0, stderr);
  const edges = (await site.processes()).filter(({ kind }) => kind === 'edge');
  assert.equal(edges.length, 2);
  const pids = new Set(before.map(({ pid }) => pid));
  assert.deepEqual(
    edges.filter(({ pid }) => pids.has(pid)),
    [],
  );
  await Promise.all(upgraded.modules.map(({ closed }) => closed));
  assert.match(await upgraded.offlineEvents(), /"drain"/);
  await upgraded.sleep(1);
  await upgraded.wakes(0);
  assert.equal(await site.stop(), 0);
});

test('a server without edges reports how many sessions an upgrade would close, with advice', async (t) => {
  const folder = temporaryDirectory(t);
  const registryFile = join(folder, 'registry.json');
  writeFileSync(registryFile, JSON.stringify(siteRegistry({ devices: 1 })));
  const alone = new SiteServer(t, join(folder, 'data'), [`registry.file=${registryFile}`]);
  await alone.start();
  await alone.module(0);
  const { exitCode, stderr } = await runCli(['upgrade', '--data-dir', alone.directory]);
  assert.equal(exitCode, 1);
  assert.match(stderr, /would close the sleep sessions here \(1\)/);
  assert.match(stderr, /run the server with --edges 2/);
});
