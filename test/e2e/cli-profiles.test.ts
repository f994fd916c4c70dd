/** The command line against a remote server over TLS, with only a profile. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { LongCommand, runCli, type CliResult } from '../support/cli-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { startTestServer, testCredentials } from '../support/test-server.ts';

/** A proxy that terminates TLS in front of this port. Resolves with its origin. */
async function proxyTo(t: Ending, port: number, certificate: TestCertificate): Promise<string> {
  const tls = { cert: readFileSync(certificate.certFile), key: readFileSync(certificate.keyFile) };
  const proxy = createServer(tls, (asked, answer) => {
    const { method, url, headers } = asked;
    const passed = request({ agent: false, port, host: '127.0.0.1', method, path: url, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void proxy.close());
  return `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

test('a command needs only a profile for a remote server', { skip: noOpenssl }, async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const directory = temporaryDirectory(t);
  const certificate = new TestCertificate(directory);
  certificate.use('proxy');
  const { accessKeyId, secretKey, appId } = testCredentials.all;
  const [tokenFile, keyFile] = [join(directory, 'token'), join(directory, 'key.json')];
  writeFileSync(tokenFile, findOpsToken(server.dataDirectory) ?? '');
  writeFileSync(
    keyFile,
    JSON.stringify({ access_key_id: accessKeyId, secret_key: secretKey, app_id: appId }),
  );
  const env = { XDG_CONFIG_HOME: directory, REVEILLE_PROFILE: 'far' };
  const cli = async (exitCode: number, ...args: string[]): Promise<CliResult> => {
    const result = await runCli(args, env);
    assert.equal(result.exitCode, exitCode, `${args.join(' ')}: ${result.stderr}`);
    return result;
  };
  const ops = ['--ops', await proxyTo(t, server.ports.ops, certificate), '--token-file', tokenFile];
  const api = ['--url', await proxyTo(t, server.ports.api, certificate), '--credential', keyFile];
  await cli(0, 'profile', 'add', 'far', ...ops, ...api, '--ca', certificate.certFile);
  await cli(0, 'profile', 'add', 'untrusted', ...ops);

  const [told, listed, added, woken, untrusted, served] = await Promise.all([
    cli(0, 'status', 'SLEEPING01', '--json'),
    cli(0, 'registry', 'list', 'devices', '--limit', '1', '--json'),
    cli(0, 'device', 'add', 'NEW', '--product', 'doorbell', '--json'),
    cli(1, 'wake', 'SLEEPING01'),
    cli(1, 'status', 'SLEEPING01', '--profile', 'untrusted'),
    cli(2, 'serve'),
  ]);
  assert.equal((JSON.parse(told.stdout) as { device: { device_id: string } }).device.device_id, 'SLEEPING01');
  const { devices } = JSON.parse(listed.stdout) as { devices: { secret: string }[] };
  assert.deepEqual(
    devices.map(({ secret }) => secret),
    ['***'],
  );
  assert.match((JSON.parse(added.stdout) as { device: { secret: string } }).device.secret, /^[\w-]{43}$/);
  assert.match(woken.stderr, /40412/, 'it signs with the credential of the profile');
  assert.match(untrusted.stderr, /not trusted.*\n.*profile again with --ca FILE/);
  assert.match(served.stderr, /this machine only, and the profile far/);

  const { stdout } = await cli(0, 'audit', '--action', 'device.*', '--json');
  assert.deepEqual(
    stdout
      .split('\n')
      .filter((line) => line.includes('"NEW"'))
      .map((line) => (JSON.parse(line) as { action: string }).action),
    ['device.add'],
  );
  const followed = new LongCommand(t, ['audit', '--follow', '--limit', '1', '--json'], env);
  assert.match(await followed.line(() => true), /"device\.add"/);
  await Promise.all([
    cli(0, 'device', 'disable', 'NEW'),
    followed.line((line) => line.includes('"device.disable"') && line.includes('"result":"ok"')),
  ]);
  const config = await cli(0, 'config');
  assert.match(config.stdout, /^in force in the server of the profile far\n/);
  const again = await cli(1, 'device', 'add', 'NEW', '--product', 'doorbell');
  assert.match(again.stderr, /already/, 'the registry of the server elsewhere is looked into');
});
