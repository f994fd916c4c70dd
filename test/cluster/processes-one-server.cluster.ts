/** Several processes behind the same ports are one server: who is asked and who has the device makes no difference. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { runCli } from '../support/cli-process.ts';
import { ProcessSite } from '../support/cluster-processes.ts';
import { siteDevice } from '../support/cluster-site.ts';
import { EventReader } from '../support/event-reader.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

function asleep(site: ProcessSite, count: number): Promise<SleepingModule[]> {
  return Promise.all(range(count).map((number) => site.module(number)));
}

describe('several processes', { timeout: 300_000 }, () => {
  test('say once that they are ready, with real ports, and each line of the log says whose it is', async (t) => {
    const site = await ProcessSite.start(t, 2);
    const { command, ports } = site.server;
    assert.equal(command.lines.filter((line) => line.includes('"msg":"ready"')).length, 1);
    assert.ok(ports.api > 0 && ports.sleep > 0 && ports.signal > 0 && ports.ops > 0);
    const said = command.lines.map((line) => JSON.parse(line) as { process?: number });
    assert.deepEqual(new Set(said.map(({ process }) => process)), new Set([undefined, 0, 1, 2]));
    const members = await site.members();
    assert.deepEqual(
      members.map(({ process, role, state }) => [process, role, state]),
      [
        [0, 'coordinator', 'up'],
        [1, 'worker', 'up'],
        [2, 'worker', 'up'],
      ],
    );
  });

  test('query and wake a device through whichever of them is asked', async (t) => {
    const site = await ProcessSite.start(t, 2);
    const modules = await asleep(site, 8);
    for (const number of range(8)) await site.committed(number);
    const sessions = (await site.members()).map((member) => member.sleep_sessions);
    assert.deepEqual(sessions, [0, 4, 4], 'each has as many as the others');
    const apis = range(16).map(() => site.api());
    for (const [number, module] of modules.entries())
      for (const api of apis) {
        const device_id = siteDevice(number);
        const record = await api.connectivity(device_id);
        assert.equal(record.json.code, 0, record.text);
        assert.notEqual(
          (record.json.data as { sleep: { last_login_at: unknown } }).sleep.last_login_at,
          null,
        );
        const woken = await site.wake(api, number);
        assert.equal(woken.status, 202, woken.text);
        assert.match((await module.nextPacket()).toString('hex'), /^983b16f8f39c/);
      }
    assert.equal(await site.metric('reveille_wakeups_total', '"accepted"'), 128);
  });

  test('replace a session of a device wherever it was, and tell it once', async (t) => {
    const site = await ProcessSite.start(t, 2);
    const reader = await EventReader.fromNow(site.api());
    const first = await site.module(0);
    await reader.take(1);
    const second = await site.module(0);
    await first.closed;
    const [told] = await reader.take(1);
    assert.deepEqual([told?.type, told?.data['replaced']], ['device.sleep.login', true]);
    const woken = await site.api().wake({ device_id: siteDevice(0) });
    assert.equal(woken.status, 202, woken.text);
    await second.nextPacket();
    assert.deepEqual(
      await reader.rest().then((events) => events.filter(({ type }) => type.startsWith('device.sleep'))),
      [],
    );
  });

  test('have a storm of 1 200 logins spread evenly over 4 of them', async (t) => {
    const overrides = ['sleep.handshakes_per_address_max=0', 'sleep.admission_wait_ms=60000'];
    const site = await ProcessSite.start(t, 4, { devices: 1200, overrides });
    await asleep(site, 1200);
    const sessions = (await site.members()).slice(1).map((member) => member.sleep_sessions ?? 0);
    assert.equal(
      sessions.reduce((sum, count) => sum + count, 0),
      1200,
    );
    for (const count of sessions) assert.ok(Math.abs(count - 300) <= 30, `spread as ${sessions.join(', ')}`);
    assert.equal(await site.metric('reveille_sleep_sessions'), 1200);
  });

  test('are administrated as one: a device is kicked and disabled wherever it is', async (t) => {
    const site = await ProcessSite.start(t, 2);
    const modules = await asleep(site, 4);
    for (const number of range(4)) await site.committed(number);
    for (const [number, module] of modules.slice(0, 2).entries()) {
      const kicked = await site.ops<object>('/v1/device/kick', 'POST', { device_id: siteDevice(number) });
      assert.deepEqual(kicked, { kicked: true, sessions: ['sleep'] });
      await module.closed;
    }
    for (const [index, module] of modules.slice(2).entries()) {
      const device_id = siteDevice(index + 2);
      const status = await site.ops<{ sleep: { state: string } }>(`/v1/device/status?device_id=${device_id}`);
      assert.equal(status.sleep.state, 'open');
      await site.ops('/v1/device/disable', 'POST', { device_id });
      await module.closed;
      for (const api of range(8).map(() => site.api()))
        assert.equal((await api.connectivity(device_id)).json.code, 40403);
    }
  });

  test('are shown by the command line, which fails when one is not up', async (t) => {
    const site = await ProcessSite.start(t, 1);
    const command = ['cluster', 'status', '--data-dir', `${site.directory}/data`];
    const shown = await runCli(command);
    assert.equal(shown.exitCode, 0, shown.stderr);
    assert.match(shown.stdout, /coordinator +up/);
    assert.match(shown.stdout, /worker +up/);
    const json = JSON.parse((await runCli([...command, '--json'])).stdout) as { members: unknown[] };
    assert.equal(json.members.length, 2);
    const pid = await site.pid(1);
    process.kill(pid, 'SIGSTOP');
    const failing = await runCli(command);
    assert.equal(failing.exitCode, 1, failing.stdout);
    // One that is stopped outlives its supervisor: not the test.
    await site.replaced(1, pid, 30_000);
  });

  test('refuse a port that somebody has, in one sentence, and start nothing', async (t) => {
    const site = await ProcessSite.start(t, 1);
    const { ports } = site.server;
    const settings = ['ops', 'sleep', 'signal'].map((name) => `${name}.listen=127.0.0.1:0`);
    const given = [`api.listen=127.0.0.1:${ports.api}`, 'media.process=none', ...settings];
    const options = given.flatMap((setting) => ['--set', setting]);
    const other = `${site.directory}/other`;
    const taken = await runCli(['serve', '--processes', '2', '--data-dir', other, ...options]);
    assert.equal(taken.exitCode, 1);
    assert.match(
      taken.stderr,
      new RegExp(`cannot listen on 127\\.0\\.0\\.1:${ports.api} \\(api\\.listen\\)`),
    );
    assert.equal(taken.stdout, '');
  });
});
