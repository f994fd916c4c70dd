/**
 * Damaged pages in a real server's store: requests that read one are refused, others are served, sleeping devices are woken, and
 * operators receive advice. Source: docs/alerts.md, A damaged store.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli } from '../support/cli-process.ts';
import { wipePages } from '../support/damaged-store.ts';
import { SiteServer, siteDevice, siteRegistry, wake } from '../support/site-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const [held, other, newcomer, lost] = [0, 150, 1, 299];

test('requests that read a damaged page are answered 50301, others are served, and the next start names the file', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  const registry = `${directory}.json`;
  writeFileSync(registry, JSON.stringify(siteRegistry({ devices: 300 })));
  const site = new SiteServer(t, directory, [`registry.file=${registry}`]);
  await site.start();
  const asleep = await site.module(held);
  const codeOf = async (device: number): Promise<number | undefined> =>
    (await site.api.connectivity(siteDevice(device))).json.code;
  const wakeAgain = async (): Promise<void> => {
    const answer = await wake(site.api, held);
    assert.equal(answer.status, 202, answer.text);
    await asleep.nextPacket();
  };
  assert.equal(await codeOf(held), 0);

  wipePages(join(directory, 'registry.mdb'), siteDevice(lost), [siteDevice(held), siteDevice(other)]);
  assert.equal(await codeOf(lost), 50301);
  assert.deepEqual([(await wake(site.api, lost)).status, await codeOf(other)], [503, 0]);
  await wakeAgain();
  const told = await site.server.command.logged<{ file: string; advice: string }>(
    'store: damaged; its unreadable pages are not served, the rest is',
  );
  assert.equal(told.file, join(directory, 'registry.mdb'));
  assert.match(told.advice, /reveille restore/);
  assert.deepEqual(await site.readiness(), {
    status: 503,
    text: '{"ready":false,"reasons":["store_damaged"]}',
  });
  const doctor = await runCli(['doctor', '--data-dir', directory]);
  assert.match(
    doctor.stdout,
    /^fail +server .*\(store_damaged\); the store is damaged, its log names the file/m,
  );

  // From now on commits fail at damaged pages, too.
  wipePages(join(directory, 'state.mdb'), siteDevice(held));
  await assert.rejects(site.module(newcomer), /busy/);
  await wakeAgain();
  const refused = await site.server.command.logged<{ advice: string }>(
    'store: refuses writes; retrying every second',
  );
  assert.match(refused.advice, /reveille restore/);
  await wakeAgain();
  assert.equal((await site.readiness()).text, '{"ready":false,"reasons":["store_damaged","store"]}');
  await site.kill();
  await assert.rejects(
    site.start(),
    /mdb is damaged: .*restore the data directory from a backup \(reveille restore\)/,
  );
});
