/** `reveille devices` as a process against a server: added, listed, changed and removed over the signed API. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

function devices(...args: string[]): Promise<CliResult> {
  return runCli([
    '--data-dir',
    server.dataDirectory,
    'devices',
    ...args,
    '--url',
    `http://127.0.0.1:${server.ports.api}`,
  ]);
}

test('a device is added with a secret shown once, listed, changed and removed', async () => {
  const added = await devices('add', 'CLI-1', '--product', 'doorbell', '--label', 'site=north');
  assert.equal(added.exitCode, 0, added.stderr);
  assert.match(added.stdout, /^CLI-1 is added\n {2}secret {2}\S{16,} {3}\(shown once\)\n$/);

  const listed = await devices('list', '--prefix', 'CLI-', '--offline');
  assert.equal(listed.stdout, 'CLI-1  doorbell  expires never  site=north\n');

  const changed = await devices(
    'set',
    'CLI-1',
    '--secret',
    '--label',
    'site=',
    '--disable',
    '--expires',
    'never',
    '--json',
  );
  const { data } = JSON.parse(changed.stdout) as { data: Record<string, unknown> };
  assert.deepEqual([data['disabled'], data['labels'], data['expires_at']], [true, {}, null]);
  assert.match(String(data['secret']), /^\S{16,}$/);

  const removed = await devices('remove', 'CLI-1');
  assert.equal(removed.stdout, 'CLI-1 is removed\n');
  const again = await devices('remove', 'CLI-1');
  assert.deepEqual([again.exitCode, again.stderr], [1, 'CLI-1: device does not exist (40403)\n']);
});

test('what is refused exits with 1, and what is no label with 2', async () => {
  const foreign = await devices('add', 'CLI-2', '--product', 'foreign');
  assert.equal(foreign.exitCode, 1);
  assert.match(foreign.stderr, /^CLI-2 is not added: .* \(40302\)\n$/);
  const mistyped = await devices('add', 'CLI-2', '--product', 'doorbell', '--label', 'north');
  assert.equal(mistyped.exitCode, 2, mistyped.stderr);
  assert.match(mistyped.stderr, /expected a label like site=north, not north/);
});
