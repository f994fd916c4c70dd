/** A running server is backed up, and another one continues from the backup; with `kill -9` at every phase. Source: docs/upgrading.md, Backups. */
import assert from 'node:assert/strict';
import { spawnSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync, copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { once } from 'node:events';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { ApiClient } from '../support/api-client.ts';
import { mainArgs, runCli, type CliResult } from '../support/cli-process.ts';
import { CrashLoad } from '../support/crash-load.ts';
import { checkLog } from '../support/event-log-check.ts';
import { readLog } from '../support/event-reader.ts';
import { chanceFrom } from '../support/seeded-random.ts';
import { startServerProcess } from '../support/server-process.ts';
import { secretOf, siteAppId, siteCredential, siteDevice, siteRegistry } from '../support/site-server.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { receiverSecret, status, WebhookReceiver } from '../support/webhook-receiver.ts';
import { backupOf, filledStore } from '../support/backup-scene.ts';
import { runArgs } from '../support/checkout.ts';

const killed = runArgs(moduleBeside('backup-kill-process', import.meta.url));

/** Kills the action `verb` at a phase and progress. `places`: the data directory and the file. */
async function killIn(
  verb: string,
  at: readonly [phase: string, done: number],
  ...places: string[]
): Promise<void> {
  const child = spawn(process.execPath, [...killed, verb, at[0], String(at[1]), ...places], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  assert.equal(said.toString(), 'stopped\n');
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  assert.deepEqual(await gone, [null, 'SIGKILL']);
}

const deviceIds = Array.from({ length: 24 }, (_, i) => siteDevice(i));

async function run(...args: readonly string[]): Promise<CliResult> {
  const result = await runCli(args);
  assert.equal(result.exitCode, 0, `${args.join(' ')}: ${result.stderr}`);
  return result;
}

/** State that does not change under load, with one disabled webhook. */
async function standingOf(directory: string): Promise<Record<string, unknown>> {
  const { stdout } = await run('webhook', 'list', '--json', '--data-dir', directory);
  const [{ url, state, switched_off_at } = {}] = (
    JSON.parse(stdout) as { webhooks: Record<string, unknown>[] }
  ).webhooks;
  return { url, state, switched_off_at };
}

test('a backup under load has everything committed before; the restored server ends open sessions, and wakes devices', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answer(status(410));
  const folder = temporaryDirectory(t);
  const [data, restored] = [join(folder, 'data'), join(folder, 'restored')];
  const [registry, file] = [join(folder, 'registry.json'), join(folder, 'store.backup')];
  const webhooks = [{ app_id: siteAppId, url: receiver.url, secret: receiverSecret, types: ['*'] }];
  writeFileSync(registry, JSON.stringify(siteRegistry({ devices: deviceIds.length, webhooks })));
  const overrides = [
    `registry.file=${registry}`,
    'webhooks.allow_local=true',
    'wakeup.device_per_second=100000',
    'limits.device_logins_per_second=1000',
    'wakeup.application_per_second=100000',
  ];
  const server = await startServerProcess(t, [...overrides, `data.dir=${data}`]);
  const api = new ApiClient(server.ports.api, siteCredential);
  const load = new CrashLoad({ api, ports: server.ports, deviceIds }, chanceFrom(20));
  await run('token', 'create', 'alice', '--role', 'operator', '--data-dir', data);
  await load.happened(600);
  const shown = [...load.shown];
  const wakeups = load.wakeupsSent;
  assert.ok(shown.length > 50);
  await killIn('backup', ['copying', 1], data, file);
  assert.ok(!existsSync(file), 'a killed backup has no file');

  const taken = JSON.parse((await run('backup', file, '--data-dir', data, '--json')).stdout) as {
    readonly tables: readonly { readonly name: string; readonly rows: number }[];
  };
  assert.ok(load.wakeupsSent > wakeups, 'nothing was woken meanwhile');
  const standing = await standingOf(data);
  load.end();
  await server.command.stop('SIGKILL');
  await load.ended();
  api.close();

  assert.match((await run('verify', file)).stdout, /is complete .*: 24 devices/);
  await run('restore', file, '--data-dir', restored);
  assert.equal(standing['state'], 'off');
  for (const name of ['ops.token', 'ops-tokens.json', 'token-keys.json', 'audit.log'])
    assert.deepEqual(readFileSync(join(restored, name)), readFileSync(join(data, name)), name);
  const whole = ['registry', 'export', '--with-secrets', '--data-dir'];
  assert.equal((await run(...whole, restored)).stdout, (await run(...whole, data)).stdout);

  const second = await startServerProcess(t, [...overrides, `data.dir=${restored}`]);
  assert.deepEqual(await standingOf(restored), standing);
  const again = new ApiClient(second.ports.api, siteCredential);
  t.after(() => again.close());
  const events = await readLog(again);
  assert.deepEqual(events.slice(0, shown.length), shown, 'an event that was shown before the backup is gone');
  const rows = taken.tables.find(({ name }) => name === 'events')?.rows ?? 0;
  assert.ok(rows >= shown.length && rows <= events.length);
  const { connections } = checkLog(events);
  const sessions = [...connections.sleep.values(), ...connections.signal.values()];
  assert.ok(sessions.every(({ openSession }) => openSession === null));
  assert.ok(
    sessions.some(({ nodeLost }) => nodeLost > 0),
    'nothing was open',
  );

  const [deviceId = ''] = deviceIds;
  const module = await SleepingModule.connect(second.ports.sleep, { deviceId, secret: secretOf(deviceId) });
  const { status: code, text } = await again.wake({ device_id: deviceId });
  assert.equal(code, 202, text);
  assert.equal((await module.nextPacket()).length, 8);
  await module.close();
  assert.equal(await second.command.stop('SIGTERM'), 0, second.command.stderr);
});

test('a backup is written to a pipe, and restored from one', async (t) => {
  const folder = temporaryDirectory(t);
  const data = join(folder, 'data');
  const server = await startServerProcess(t, [`data.dir=${data}`], {}, ['--demo']);
  const [piped, restored] = [join(folder, 'piped'), join(folder, 'restored')];
  const shell = (line: string): string =>
    spawnSync('sh', ['-c', line, process.execPath, ...mainArgs], { encoding: 'utf8' }).stdout;
  shell(`"$0" "$@" backup - --data-dir ${data} >${piped}`);
  assert.match(shell(`"$0" "$@" verify - <${piped}`), /^the pipe is complete .*: 2 devices/);
  assert.match(shell(`"$0" "$@" restore - --data-dir ${restored} <${piped}`), /^restored .*: 2 devices/);
  const { stdout } = await run('registry', 'export', '--data-dir', restored);
  assert.equal((JSON.parse(stdout) as { devices: unknown[] }).devices.length, 2);
  assert.equal(await server.command.stop('SIGTERM'), 0);
});

/** The store of a stopped server, and its backup. */
async function backedUp(
  t: Ending,
): Promise<{ readonly folder: string; readonly data: string; readonly file: string }> {
  const store = await filledStore(t);
  await store.close();
  const data = store.directory;
  const folder = temporaryDirectory(t);
  const file = join(folder, 'store.backup');
  const { exitCode, stderr } = await runCli(['backup', file, '--data-dir', data]);
  assert.equal(exitCode, 0, stderr);
  return { folder, data, file };
}

for (const at of [
  ['copying', 1],
  ['placing', 0],
] as const)
  test(`a backup killed while ${at[0]} leaves no new file or the older one, and the next removes its leftovers`, async (t) => {
    const { folder, data, file } = await backedUp(t);
    const before = readFileSync(file);
    await killIn('backup', at, data, file);
    assert.deepEqual(readFileSync(file), before);
    assert.equal(readdirSync(folder).length, 2, 'the killed one has left its own');
    const other = join(folder, 'other.backup');
    await killIn('backup', at, data, other);
    assert.ok(!existsSync(other));
    for (const again of [file, other]) {
      const { exitCode, stderr } = await runCli(['backup', again, '--force', '--data-dir', data]);
      assert.equal(exitCode, 0, stderr);
    }
    assert.deepEqual(readdirSync(folder).toSorted(), ['other.backup', 'store.backup']);
    await openStore(data).close();
  });

for (const at of [
  ['restoring', 1],
  ['placing', 2],
  ['placing', 6],
] as const)
  test(`a restore killed while ${at[0]}, with ${at[1]} done, leaves a directory that a server refuses, and can be repeated`, async (t) => {
    const { folder, data, file } = await backedUp(t);
    const restored = join(folder, 'restored');
    await killIn('restore', at, restored, file);
    const serve = await runCli(['serve', '--data-dir', restored]);
    assert.equal(serve.exitCode, 1);
    assert.match(serve.stderr, /a restore into .* was not finished: run it again/);
    const { exitCode, stderr } = await runCli(['restore', file, '--data-dir', restored]);
    assert.equal(exitCode, 0, stderr);
    await openStore(restored).close();
    assert.deepEqual(await backupOf(restored), await backupOf(data));
  });

test('a killed verification has changed nothing, and the next removes its leftovers', async (t) => {
  const { folder, file } = await backedUp(t);
  const copy = join(temporaryDirectory(t), 'copy');
  copyFileSync(file, copy);
  await killIn('verify', ['restoring', 1], '-', file);
  assert.equal(readdirSync(folder).length, 2);
  const { exitCode, stdout } = await runCli(['verify', file]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /store\.backup is complete .*: 3 devices, 2 events/);
  assert.deepEqual(readdirSync(folder), ['store.backup']);
  assert.deepEqual(readFileSync(file), readFileSync(copy));
});
