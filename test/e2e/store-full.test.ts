/**
 * A store on a full disk, simulated by a file size limit of a real server process: sleeping devices are woken, operators see it
 * everywhere, and it recovers by itself. Source: docs/alerts.md, When the store refuses writes.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { Environment } from '../../src/storage/lmdb/environment.ts';
import { runArgs } from '../support/checkout.ts';
import { runCli } from '../support/cli-process.ts';
import { checkLog } from '../support/event-log-check.ts';
import { EventReader, readLog } from '../support/event-reader.ts';
import { limitProcess, noPrlimit } from '../support/process-limit.ts';
import type { SiteServer } from '../support/site-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { startTestSite } from '../support/test-site.ts';

/**
 * Every write to a file fails as on a full disk, with EFBIG in place of ENOSPC. As on a full disk, the first two pages of LMDB can be
 * written in place; otherwise it would panic.
 */
function fillDisk(site: SiteServer): void {
  limitProcess(site.pid, 'fsize', 2 * 4096);
}

function emptyDisk(site: SiteServer): void {
  limitProcess(site.pid, 'fsize', 'unlimited');
}

const refuses = 'store: refuses writes; retrying every second';
const takesAgain = 'store: accepts writes again';

function logged(site: SiteServer, message: string): number {
  return site.server.command.lines.filter((line) => line.includes(`"msg":"${message}"`)).length;
}

test(
  'on a full disk sleeping devices are woken and others log in; the store recovers by itself without a loss',
  { skip: noPrlimit },
  async (t) => {
    const site = await startTestSite(t);
    const asleep = await site.module('SLEEPING01');
    // Each has its own custom data, since equal ones within a second have one signature and are one wakeup.
    const wake = async (deviceId: string, requestId: string, customData: string): Promise<void> => {
      const body = { device_id: deviceId, custom_data: customData };
      const answer = await site.api.wake(body, { spoil: { 'X-Request-ID': requestId } });
      assert.equal(answer.status, 202, answer.text);
    };
    fillDisk(site);
    await wake('SLEEPING01', 'first-on-a-full-disk', '0x0000');
    assert.equal((await asleep.nextPacket()).toString('hex'), '983b16f8f39c0000');
    await site.server.command.logged(refuses);

    assert.deepEqual(await site.readiness(), { status: 503, text: '{"ready":false,"reasons":["store"]}' });
    const doctor = await runCli(['doctor', '--data-dir', site.directory]);
    assert.equal(doctor.exitCode, 1);
    assert.match(doctor.stdout, /^fail +server .*not ready \(store\); the store refuses writes: check/m);
    const codeOf = async (deviceId: string): Promise<number | undefined> =>
      (await site.api.connectivity(deviceId)).json.code;
    assert.equal(await codeOf('SLEEPING02'), 0);
    const newcomer = await site.module('SLEEPING02');
    assert.equal(await codeOf('SLEEPING02'), 50301, 'what is not kept is not told, and nobody waits for it');
    await wake('SLEEPING02', 'newcomer-on-a-full-disk', '0x0000');
    await newcomer.nextPacket();
    await wake('SLEEPING01', 'second-on-a-full-disk', '0x0001');
    await asleep.nextPacket();
    const change = await runCli(['device', 'disable', 'SLEEPING02', '--data-dir', site.directory]);
    assert.equal(change.exitCode, 1, 'what is to be kept is not done');

    emptyDisk(site);
    await site.server.command.logged(takesAgain);
    assert.equal((await site.readiness()).status, 200);
    assert.deepEqual([logged(site, refuses), logged(site, takesAgain)], [1, 1]);
    // The waiting batches follow the one that was committed.
    const reader = new EventReader(site.api);
    for (let seen = 0; seen < 3;)
      seen += (await reader.rest()).filter(({ type }) => type === 'device.wakeup.accepted').length;
    await site.kill();
    await site.start();
    const told = await readLog(site.api);
    checkLog(told);
    const accepted = told.filter(({ type }) => type === 'device.wakeup.accepted');
    assert.deepEqual(
      accepted.map(({ data }) => data['request_id']),
      ['first-on-a-full-disk', 'newcomer-on-a-full-disk', 'second-on-a-full-disk'],
    );
    assert.equal(told.filter(({ type }) => type === 'device.sleep.login').length, 2);
  },
);

test(
  'a file with a refused write prints no stack, closes, and does not block a stop',
  { skip: noPrlimit },
  async (t) => {
    const path = join(temporaryDirectory(t), 'numbers.mdb');
    const writer = runArgs(moduleBeside('refused-writer-process', import.meta.url));
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [...writer, path]);
    assert.equal(stdout, 'refused\nclosed\n');
    assert.doesNotMatch(stderr, /^ +at /m);
    const environment = new Environment(path);
    t.after(() => environment.close());
    assert.equal(environment.table<number>('numbers').get(Buffer.from('number')), 1);
  },
);
