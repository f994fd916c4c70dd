/**
 * A data directory on a read-only file system, in the test's own mount namespace: a start fails with advice, and a running server refuses
 * changes by operators and serves everything else. Source: docs/alerts.md, When the store refuses writes.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli } from '../support/cli-process.ts';
import { wake } from '../support/site-server.ts';
import { newTestSite } from '../support/test-site.ts';

const within = ['unshare', '--mount', '--map-root-user'];
const noNamespaces =
  spawnSync('unshare', [...within.slice(1), 'mount', '--bind', '/tmp', '/tmp']).status !== 0 &&
  'this machine lets its users have no mounts of their own';

/** Makes the directory read-only. */
const onReadOnly = (directory: string): string[] => [
  ...within,
  'sh',
  '-c',
  `mount --bind ${directory} ${directory} && mount -o remount,ro,bind ${directory} && exec "$0" "$@"`,
];

test('a read-only data directory', { skip: noNamespaces }, async (t) => {
  const site = await newTestSite(t);
  await site.start({ within });
  const asleep = await site.module('SLEEPING01');
  const inside = ['nsenter', `--target=${site.pid}`, '--user', '--mount', '--preserve-credentials'];
  const [command = '', ...args] = inside;
  const { directory } = site;
  const mount = `mount --bind ${directory} ${directory} && mount -o remount,ro,bind ${directory}`;
  execFileSync(command, [...args, 'sh', '-c', mount]);

  await t.test('a running server refuses operators with advice, and wakes sleeping devices', async () => {
    for (const change of [
      ['device', 'disable', 'SLEEPING02'],
      ['token', 'create', 'alice', '--role', 'viewer'],
    ]) {
      const refused = await runCli([...change, '--data-dir', directory]);
      assert.equal(refused.exitCode, 1);
      assert.match(refused.stderr, /audit log cannot be written: EROFS.*mount it writable again/);
    }
    assert.equal((await wake(site.api, 'SLEEPING01')).status, 202);
    await asleep.nextPacket();
    // The runtime file cannot be removed, which does not block the stop.
    assert.equal(await site.stop(), 0);
    assert.ok(site.server.command.lines.some((line) => line.includes('"msg":"stopped"')));
  });

  await t.test('a start fails with advice', async () => {
    const fault = /is on a read-only file system: mount it writable again, or continue with a copy/;
    await assert.rejects(site.start({ within: onReadOnly(directory) }), fault);
    const empty = join(directory, 'not-there-yet');
    await assert.rejects(
      (await newTestSite(t, `data.dir=${empty}`)).start({ within: onReadOnly(directory) }),
      fault,
    );
  });
});
