/** `reveille edge`: an edge that an operator starts, as on another machine, over TLS with the key of its core. Source: scale-out.md, Edges. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { EdgeProcessScene } from '../support/edge-process-scene.ts';
import { EdgesSite } from '../support/edges-site.ts';
import { readLog } from '../support/event-reader.ts';
import { findFreePort } from '../support/free-port.ts';
import { settingArguments } from '../support/server-process.ts';
import { hasCode, siteDevice, siteIdentity, until, wake } from '../support/site-server.ts';
import { lastFirst, temporaryDirectory, type Ending } from '../support/temporary-store.ts';

interface StartOptions {
  readonly name?: string;
  readonly port?: number;
  readonly keyFile?: string;
}

function startEdge(t: Ending, scene: EdgeProcessScene, options: StartOptions = {}): LongCommand {
  const { name = 'north', port = scene.port, keyFile = scene.keyFile } = options;
  const place = ['--core', `127.0.0.1:${scene.corePort}`, '--key-file', keyFile];
  const settings = settingArguments([`edge.name=${name}`, `edge.listen=127.0.0.1:${port}`]);
  return new LongCommand(t, ['edge', ...place, ...settings]);
}

const away = 'core: not linked; retrying';

test('an edge is ready once its core has answered, holds sessions without a native module, and drains them at a stop', async (t) => {
  const scene = await EdgeProcessScene.open(t);
  const edge = startEdge(t, scene);
  const { listeners } = await edge.logged<{ listeners: { sleep: string } }>('ready');
  assert.equal(listeners.sleep, `127.0.0.1:${scene.port}`);
  const { peer } = await scene.logIn();
  assert.equal(await scene.sessions.connection().wake(null), 'written');
  assert.equal((await scene.listening('north')).isLocal, false);
  if (process.platform === 'linux')
    assert.ok(
      !readFileSync(`/proc/${edge.pid}/maps`, 'latin1').includes('.node'),
      'a native module is loaded',
    );
  assert.equal(await edge.stop('SIGTERM'), 0);
  assert.equal(await peer.gone, 'end');
  assert.equal((await scene.sessions.endedSessions())[0]?.reason, 'drain');
});

test('an edge logs once why it has no link to its core, and when it has one again; its sockets stay', async (t) => {
  const scene = await EdgeProcessScene.open(t);
  const edge = startEdge(t, scene);
  await edge.logged('ready');
  const { peer } = await scene.logIn();
  await scene.loseCore();
  await edge.logged(away);
  await scene.newCore();
  const { sessions } = await edge.logged<{ sessions: number }>('core: linked', 2);
  assert.equal(sessions, 1);
  // Sent after the resumed sessions.
  await scene.logIn('TESTDEVICE02');
  assert.equal(await scene.sessions.connection().wake(null), 'written');
  assert.equal((await peer.read(8)).length, 8);
  const faults = edge.lines
    .filter((line) => line.includes(away))
    .map((line) => /"fault":"([^"]*)"/.exec(line)?.[1]);
  assert.equal(new Set(faults).size, faults.length, 'each fault once');
});

test('a wrong key, and a duplicate name, are refused with a sentence on both sides', async (t) => {
  const scene = await EdgeProcessScene.open(t);
  const keyFile = join(temporaryDirectory(t), 'other.key');
  writeFileSync(keyFile, randomBytes(32));
  const stranger = startEdge(t, scene, { keyFile });
  const { fault } = await stranger.logged<{ fault: string }>(away);
  assert.match(fault, /it has another key: give both ends the same key file/);
  await scene.logged(/edge port: .* has another key for the link/);
  assert.equal(await stranger.stop('SIGTERM'), 0);
  assert.ok(!stranger.lines.some((line) => line.includes('"msg":"ready"')));

  await startEdge(t, scene).logged('ready');
  const second = startEdge(t, scene, { port: 0 });
  const refusal = await second.logged<{ fault: string }>(away);
  assert.match(refusal.fault, /the core sent this edge away: another edge named north is linked/);
  await scene.logged(/edge: declined: another edge named north is linked/);
});

test('a missing setting and an address in use are named', async (t) => {
  const none = await runCli(['edge']);
  assert.deepEqual([none.exitCode, none.stderr.includes('an edge needs --core')], [2, true]);
  const wrong = await runCli(['edge', '--core', 'nowhere', '--key-file', 'edge.key']);
  assert.deepEqual([wrong.exitCode, wrong.stderr.includes('edge.core: ')], [2, true]);
  const keyless = await runCli(['edge', '--core', '127.0.0.1:1', '--key-file', '/nowhere/edge.key']);
  assert.deepEqual(
    [keyless.exitCode, /^edge\.key_file: .*edge\.key: no such file/.test(keyless.stderr)],
    [1, true],
  );

  const scene = await EdgeProcessScene.open(t);
  const taken = startEdge(t, scene, { port: scene.corePort });
  assert.equal(await taken.ended, 1);
  assert.match(taken.stderr, /cannot listen on 127\.0\.0\.1:\d+: in use, or not an address of this machine/);
});

/** A server with a port for edges elsewhere, and the command line of such an edge. */
async function openSite(t: Ending): Promise<{ readonly site: EdgesSite; readonly edge: readonly string[] }> {
  const keyFile = join(temporaryDirectory(t), 'edge.key');
  writeFileSync(keyFile, randomBytes(32), { mode: 0o600 });
  const core = `127.0.0.1:${await findFreePort('127.0.0.1')}`;
  const settings = [`edges.listen=${core}`, `edges.key_file=${keyFile}`];
  const site = await EdgesSite.open(t, { edges: 1, devices: 2, settings });
  const edge = ['edge', '--core', core, '--key-file', keyFile, ...settingArguments(['edge.name=north'])];
  return { site, edge };
}

test('a stopped server leaves edges elsewhere their sessions; a controller receives the live sleep servers', async (context) => {
  const t = lastFirst(context);
  const { site, edge } = await openSite(t);
  const own = `127.0.0.1:${site.ports.sleep}`;
  const servers = async (): Promise<readonly string[]> => {
    const controller = await site.controller(0);
    await controller.terminate();
    return [...controller.welcome.sleep.servers].sort();
  };
  assert.deepEqual(await servers(), [own]);

  const north = `127.0.0.1:${await findFreePort('127.0.0.1')}`;
  const command = new LongCommand(t, [...edge, ...settingArguments([`edge.listen=${north}`])]);
  await site.hasState('north', 'up');
  assert.deepEqual(await servers(), [own, north].sort());
  const elsewhere = await SleepingModule.connect(Number(north.split(':')[1]), siteIdentity(0));
  const local = await site.module(1);

  assert.equal(await site.stop(), 0);
  await local.closed;
  await site.start();
  await until(() => wake(site.api, 0), hasCode(0));
  assert.equal((await elsewhere.nextPacket()).length, 8);
  const told = await readLog(site.api);
  assert.deepEqual(
    told
      .filter(({ type }) => type.startsWith('device.sleep'))
      .map(({ type, device_id, data }) => [type, device_id, data['reason']]),
    [
      ['device.sleep.login', siteDevice(0), undefined],
      ['device.sleep.login', siteDevice(1), undefined],
      ['device.sleep.offline', siteDevice(1), 'drain'],
    ],
  );

  await command.stop('SIGKILL');
  await elsewhere.closed;
  await site.hasState('north', 'away');
  assert.deepEqual(await servers(), [`127.0.0.1:${site.ports.sleep}`]);
  await site.module(0);
});
