/** Several processes as they start and are reloaded: their ports, how logins are spread over them, their certificates. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { runCli, type LongCommand } from '../support/cli-process.ts';
import { ProcessSite } from '../support/cluster-processes.ts';
import { settingArguments, startServerProcess } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

test('processes refuse a port that somebody has, in one sentence, and start nothing', async (t) => {
  const somebody = createServer().listen(0, '127.0.0.1');
  t.after(() => somebody.close());
  await once(somebody, 'listening');
  const { port } = somebody.address() as AddressInfo;
  const settings = ['ops', 'sleep', 'signal'].map((name) => `${name}.listen=127.0.0.1:0`);
  const given = [`api.listen=127.0.0.1:${port}`, 'media.process=none', ...settings];
  const options = settingArguments(given);
  const taken = await runCli(['serve', '--processes', '2', '--data-dir', temporaryDirectory(t), ...options]);
  assert.equal(taken.exitCode, 1);
  assert.match(taken.stderr, new RegExp(`^api\\.listen: 127\\.0\\.0\\.1:${port}: in use by another program`));
  assert.equal(taken.stdout, '');
});

for (const folder of ['data', 'a-folder-whose-name-makes-the-path-of-a-socket-in-it-too-long-for-the-system'])
  test(`killed processes leave no sockets behind the next start and stop, with ${folder.length} letters`, async (t) => {
    const TMPDIR = temporaryDirectory(t);
    const data = join(temporaryDirectory(t), folder);
    const start = async (): Promise<LongCommand> => {
      const options = ['--data-dir', data, '--processes', '2'];
      const { command } = await startServerProcess(t, [], { TMPDIR }, options);
      return command;
    };
    const sockets = (): string[] =>
      readdirSync(join(data, 'sockets')).filter((name) => name.endsWith('.sock'));
    const first = await start();
    const before = sockets();
    assert.equal(before.length, 3);
    assert.equal(statSync(join(data, 'sockets')).mode & 0o777, 0o700);
    for (const name of before) assert.equal(statSync(join(data, 'sockets', name)).mode & 0o777, 0o600);
    await first.stop('SIGKILL');
    const second = await start();
    assert.equal(sockets().length, 3);
    assert.deepEqual(
      sockets().filter((name) => before.includes(name)),
      [],
    );
    assert.ok(readdirSync(TMPDIR).length <= 1, 'one folder there at most, that of the living');
    assert.equal(await second.stop('SIGTERM'), 0);
    assert.equal(existsSync(join(data, 'sockets')), false);
    assert.deepEqual(readdirSync(TMPDIR), []);
  });

test('several processes have a storm of 1 200 logins spread evenly over 2 of them', async (t) => {
  const overrides = ['sleep.handshakes_per_address_max=0', 'sleep.admission_wait_ms=60000'];
  const many = await ProcessSite.open(t, 2, { devices: 1200, overrides });
  await Promise.all(range(1200).map((number) => many.module(number)));
  const sessions = (await many.members()).slice(1).map((member) => member.sleep_sessions ?? 0);
  assert.equal(
    sessions.reduce((all, one) => all + one, 0),
    1200,
  );
  for (const count of sessions) assert.ok(Math.abs(count - 600) <= 60, `spread as ${sessions.join(', ')}`);
  assert.equal(await many.metric('reveille_sleep_sessions'), 1200);
});

test(
  'processes show the new certificate of the sleep port and the API after a reload',
  { skip: noOpenssl },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('first');
    const { certFile, keyFile } = certificate;
    const overrides = ['sleep', 'api'].flatMap((listener) => [
      `${listener}.tls_cert_file=${certFile}`,
      `${listener}.tls_key_file=${keyFile}`,
    ]);
    const secure = await ProcessSite.open(t, 2, { overrides });
    const names = async (): Promise<string[]> => {
      const { sleep, api } = secure.server.ports;
      const shown = await Promise.all(range(16).map((number) => nameShownAt(number % 2 === 0 ? sleep : api)));
      return Array.from(new Set(shown));
    };
    assert.deepEqual(await names(), ['first']);
    certificate.use('second');
    process.kill(secure.pid, 'SIGHUP');
    const startedMs = performance.now();
    while ((await names()).join() !== 'second')
      assert.ok(performance.now() - startedMs < hangMsMax, 'the old certificate is still shown');
  },
);

/** The common name in the certificate that a connection is shown; empty: the port changed hands before it was accepted. */
function nameShownAt(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN);
      socket.destroy();
    });
    socket.on('error', () => resolve(''));
  });
}
