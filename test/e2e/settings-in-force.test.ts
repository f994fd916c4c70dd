/** Settings in force in a running server, with reasons and pending changes: `reveille config` and the ops listener. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { SettingJson, SettingsJson } from '../../src/server/config/settings-route.ts';
import { runCli } from '../support/cli-process.ts';
import { startServerProcess } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

interface ConfigJson {
  readonly server: { readonly pid: number } | null;
  readonly settings: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly origins: Readonly<Record<string, string>>;
  readonly in_force: Readonly<Record<string, { readonly value: unknown; readonly reason: string }>>;
  readonly after_restart: Readonly<Record<string, unknown>>;
  readonly file: string | null;
  readonly file_problem: string | null;
}

test('with a running server its settings are shown, not those of this shell', async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'settings.json');
  const write = (settings: object): void => writeFileSync(file, JSON.stringify(settings));
  const given = {
    sleep: { max_sessions: 50_000 },
    media: { bridge_keys: ['bridge-1:of-nobody:0123456789abcdef'] },
  };
  write(given);
  const data = join(directory, 'data');
  const options = ['--config', file, '--data-dir', data];
  const env = { REVEILLE_WAKEUP_DEVICE_PER_SECOND: '7' };
  const { command, ports } = await startServerProcess(t, ['log.requests=all'], env, options, {
    openFilesMax: 3000,
  });
  const show = async (...more: readonly string[]): Promise<ConfigJson> => {
    const shown = await runCli(['config', '--json', '--data-dir', data, ...more]);
    assert.equal(shown.exitCode, 0, shown.stderr);
    return JSON.parse(shown.stdout) as ConfigJson;
  };
  const shown = await show();
  assert.equal(shown.server?.pid, command.pid);
  assert.equal(shown.file, file);
  assert.equal(shown.settings['sleep']?.['max_sessions'], 50_000);
  assert.deepEqual(shown.in_force['sleep.max_sessions'], {
    value: 1976,
    reason: 'the limit of open files is 3000, and 1024 are kept for other work',
  });
  assert.equal(shown.in_force['api.connections_max']?.value, 256 + 494);
  assert.equal(shown.in_force['wakeup.device_burst']?.value, 21);
  const of = (name: string): string | undefined => shown.origins[name];
  assert.deepEqual(
    ['sleep.max_sessions', 'wakeup.device_per_second', 'log.requests', 'signal.max_sessions'].map(of),
    ['file', 'environment', 'flag', 'default'],
  );
  assert.deepEqual([shown.after_restart, shown.file_problem], [{}, null]);
  const text = (await runCli(['config', '--data-dir', data])).stdout;
  assert.match(text, new RegExp(`^in force in the running server \\(process ${command.pid}\\)$`, 'm'));
  assert.match(
    text,
    /^sleep\.max_sessions +1976 +\(file\) +configured 50000: the limit of open files is 3000/m,
  );
  assert.match(text, /^log\.requests +"all" +\(flag\)$/m);
  assert.doesNotMatch(text, /\(default\)$/m);
  assert.match(text, /^\d+ settings have their defaults: --all shows them$/m);
  const whole = (await runCli(['config', '--all', '--data-dir', data])).stdout;
  assert.match(whole, /^wakeup\.\w+ .*\(default\)$/m);
  assert.doesNotMatch(whole, /have their defaults/);

  write({ ...given, sleep: { max_sessions: 1000 }, auth: { clock_window_s: 60 } });
  const changed = await show();
  assert.deepEqual(changed.after_restart, { 'sleep.max_sessions': 1000, 'auth.clock_window_s': 60 });
  assert.equal(changed.settings['sleep']?.['max_sessions'], 50_000);
  process.kill(command.pid ?? 0, 'SIGHUP');
  const { settings } = await command.logged<{ settings: string[] }>(
    'settings: changed; they take effect at a restart',
  );
  assert.deepEqual(settings, ['sleep.max_sessions', 'auth.clock_window_s']);
  assert.match(
    (await runCli(['config', '--data-dir', data])).stdout,
    /^auth\.clock_window_s +300 +\(default\) +60 after a restart$/m,
  );

  write({ media: { bridge_keys: ['bridge-2:of-nobody:fedcba9876543210'] }, sleep: { max_sessions: 'many' } });
  const broken = await show();
  assert.match(broken.file_problem ?? '', /sleep\.max_sessions: expected .*; got "many"/);
  assert.doesNotMatch(JSON.stringify(broken), /0123456789abcdef|fedcba9876543210/);
  write({ ...given, media: { bridge_keys: ['bridge-1:of-nobody:fedcba9876543210'] } });
  const secret = await show();
  assert.deepEqual(secret.after_restart, { 'media.bridge_keys': ['***'] });

  const token = readFileSync(join(data, 'ops.token'), 'utf8').trim();
  const answered = await fetch(`http://127.0.0.1:${ports.ops}/v1/settings`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  const listed = ((await answered.json()) as SettingsJson).settings;
  const named = (name: string): SettingJson | undefined => listed.find((setting) => setting.name === name);
  const { value, configured, origin, reason } = named('sleep.max_sessions') ?? {};
  assert.deepEqual([value, configured, origin], [1976, 50_000, 'file']);
  assert.match(reason ?? '', /open files/);
});

test('without a running server the settings of a start here are shown, with a remark', async (t) => {
  const data = join(temporaryDirectory(t), 'data');
  const { stdout, exitCode } = await runCli([
    'config',
    '--data-dir',
    data,
    '--set',
    'auth.clock_window_s=60',
  ]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^no running server is asked: a server started here would use$/m);
  assert.match(stdout, /^auth\.clock_window_s +60 +\(flag\)/m);
  const none = await runCli(['config', '--data-dir', data]);
  assert.match(none.stdout, /^no server runs on .*data: a server started here would use$/m);
  const json = JSON.parse((await runCli(['config', '--json', '--data-dir', data])).stdout) as ConfigJson;
  assert.equal(json.server, null);
});
