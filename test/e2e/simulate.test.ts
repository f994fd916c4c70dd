/** `reveille simulate` as a process against a server: devices that wake, come online and sleep again. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { LongCommand, runCli, type CliResult } from '../support/cli-process.ts';
import { freeListens, settingArguments } from '../support/server-process.ts';
import { lastFirst, temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';

/** Without media processes: these tests have no calls. */
const freePorts = settingArguments([...freeListens, 'media.process=none']);

interface Scene {
  readonly server: LongCommand;
  readonly directory: string;
  readonly listeners: { readonly signal: string; readonly sleep: string };
  readonly cli: (...args: string[]) => Promise<CliResult>;
}

/** A server with its two demo devices. */
async function openScene(t: Ending, ...settings: readonly string[]): Promise<Scene> {
  const directory = join(temporaryDirectory(t), 'data');
  const more = settingArguments(settings);
  const server = new LongCommand(t, ['serve', '--demo', '--data-dir', directory, ...freePorts, ...more]);
  const { listeners } = await server.logged<Pick<Scene, 'listeners'>>('ready');
  return { server, directory, listeners, cli: (...args) => runCli([...args, '--data-dir', directory]) };
}

const { directory, listeners, cli } = await openScene(lastFirst({ after }));

type Said = Readonly<Record<string, unknown>>;

/** The first event of this kind in the output of a simulation with `--json`. */
async function findEvent(
  fleet: LongCommand,
  event: string,
  isWanted: (said: Said) => boolean,
): Promise<Said> {
  const line = await fleet.line((text) => {
    const said = JSON.parse(text) as Said;
    return said['event'] === event && isWanted(said);
  });
  return JSON.parse(line) as Said;
}

test('three devices come online, sleep, and are woken through the API, as the figures show', async (t) => {
  const added = await cli('device', 'add', 'THIRD', '--product', 'doorbell');
  assert.equal(added.exitCode, 0, added.stderr);
  const fleet = new LongCommand(t, [
    'simulate',
    '--devices=3',
    '--online-for=1',
    '--boot-ms=100',
    '--wake-every=1',
    '--json',
    `--data-dir=${directory}`,
  ]);
  const outcome = await findEvent(fleet, 'outcome', ({ status }) => status === 'completed');
  assert.equal(outcome['already_online'], false);
  const wokeAfterMs = Number(outcome['woke_after_ms']);
  assert.ok(wokeAfterMs >= 50, `${wokeAfterMs} ms`);
  const woken = outcome['device_id'];
  const isThis = (said: Said): boolean => said['device_id'] === woken;
  assert.equal((await findEvent(fleet, 'wake', isThis))['packet'], '983b16f8f39c0000');
  assert.ok(Number((await findEvent(fleet, 'awake', isThis))['took_ms']) >= 50);
  const figures = await findEvent(fleet, 'figures', (said) => said['accepted_to_online'] !== null);
  const stages = ['offline', 'booting', 'online', 'asleep'].map((stage) => Number(figures[stage]));
  assert.equal(
    stages.reduce((sum, count) => sum + count),
    3,
  );
  const events = await cli('call', 'GET', '/v1/device/connectivity?device_id=THIRD');
  assert.match(events.stdout, /"signal": \{\s+"is_online": (true|false),\s+"last_login_at": \d+/);
  assert.equal(await fleet.stop('SIGINT'), 0);
  const summary = JSON.parse(fleet.lines.at(-1) ?? '') as Said;
  assert.deepEqual([summary['event'], summary['refused'], summary['errors']], ['summary', 0, 0]);
  assert.ok(Number(summary['logins']) >= 4 && Number(summary['wakes']) >= 1);
});

test('a wake with a wait reports when the device is online; a kicked module logs in again', async (t) => {
  const args = ['simulate', '--devices', '1', '--online-for', '1', '--json', '--data-dir', directory];
  const fleet = new LongCommand(t, args);
  await findEvent(fleet, 'asleep', () => true);
  const { exitCode, stdout } = await cli('wake', 'DEMO-DOORBELL-1', '--wait');
  assert.equal(exitCode, 0, stdout);
  assert.match(
    stdout,
    /being woken: the packet left at .*\n +request id .*\nDEMO-DOORBELL-1: online again after \d+ ms/,
  );
  await findEvent(fleet, 'figures', ({ asleep, sleep_logins: logins }) => asleep === 1 && logins === 2);
  assert.equal((await cli('device', 'kick', 'DEMO-DOORBELL-1')).exitCode, 0);
  await findEvent(fleet, 'trouble', ({ reason }) => /closed/.test(String(reason)));
  await findEvent(fleet, 'figures', ({ sleep_logins: logins }) => logins === 3);
  assert.equal(await fleet.stop('SIGINT'), 0);
  assert.equal((JSON.parse(fleet.lines.at(-1) ?? '') as Said)['wakes'], 1, 'nobody woke it the second time');
});

test('a refused login of a simulated controller or module exits with 1', async () => {
  for (const how of [[], ['--only-sleep']]) {
    const made = ['--prefix', 'NOBODY', '--secret', 'guess', '--duration', '2'];
    const { exitCode, stderr } = await cli('simulate', ...made, ...how);
    assert.equal(exitCode, 1, stderr);
    assert.match(stderr, /NOBODY1.*denied/);
  }
});

test('with only a sleep server, modules sleep without controllers', async () => {
  const simulated = await cli('simulate', '--server', listeners.sleep, '--duration', '2', '--json');
  assert.equal(simulated.exitCode, 0, simulated.stderr);
  assert.match(simulated.stdout, /"event":"asleep","devices":1/);
  const unwakeable = await cli('simulate', '--server', listeners.sleep, '--wake-every', '1');
  assert.equal(unwakeable.exitCode, 2);
  assert.match(unwakeable.stderr, /--wake-every.*\n.*--signal/);
});

test(
  'devices log in and sleep over TLS, and untrusted certificates are counted',
  { skip: noOpenssl },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('elsewhere');
    const settings = [...certificate.overrides('signal'), ...certificate.overrides('sleep')];
    const { server, directory, listeners, cli } = await openScene(t, ...settings);
    const named = ['--signal', `wss://${listeners.signal}`, '--server', `tls://${listeners.sleep}`];
    const play = (...trust: string[]): LongCommand =>
      new LongCommand(t, ['simulate', '--online-for=1', '--json', `--data-dir=${directory}`, ...trust]);
    // Trusted by the server's own certificate, and by that of an authority.
    const fleets = [play(), play(...named, '--prefix=DEMO-DOORBELL-2', '--ca', certificate.certFile)];
    const distrusted = cli('simulate', ...named, '--duration=1', '--json');
    for (const fleet of fleets) {
      await findEvent(fleet, 'asleep', () => true);
      assert.equal(await fleet.stop('SIGINT'), 0);
      assert.equal((JSON.parse(fleet.lines.at(-1) ?? '') as Said)['errors'], 0);
    }
    const { exitCode, stdout } = await distrusted;
    assert.equal(exitCode, 1);
    const summary = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Said;
    assert.equal(summary['errors'], 1);
    const [trouble] = summary['troubles'] as readonly { reason: string; advice: string }[];
    assert.match(trouble?.reason ?? '', /wss:.*not trusted: self-signed/);
    assert.match(trouble?.advice ?? '', /--ca/);
    assert.equal(await server.stop('SIGTERM'), 0);
  },
);
