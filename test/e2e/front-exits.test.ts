/** A server with fronts that exits on an error keeps its exit code: no front thread aborts it. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { SiteServer, siteDevice, siteRegistry, until } from '../support/site-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

/** Ends one session a second. */
const devices = 12;

const skip = process.platform === 'linux' ? false : 'a port has several fronts on Linux alone';

/** Loaded by every process and thread of the server: a signal causes a fault of the core. */
const preload = `data:text/javascript,${encodeURIComponent(`
  import { isMainThread, threadId, workerData } from 'node:worker_threads';
  const channel = new BroadcastChannel('faults');
  channel.unref();
  const isCore = isMainThread && process.argv.includes('serve');
  if (isCore) {
    process.on('SIGWINCH', () => { throw new Error('a fault of the test'); });
    process.on('SIGPWR', () => channel.postMessage('hang'));
    channel.onmessage = () => { throw new Error('a fault of the test'); };
  } else if (workerData?.perAddressMax !== undefined)
    channel.onmessage = () => { channel.postMessage('hangs'); for (;;); };
`)}`;

async function openSite(t: TestContext): Promise<SiteServer> {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'registry.json');
  await writeFile(file, JSON.stringify(siteRegistry({ devices })));
  const settings = [`registry.file=${file}`, 'sleep.drain_per_second=1'];
  const site = new SiteServer(t, join(directory, 'data'), settings, ['--fronts', '2']);
  await site.start({ imports: [preload] });
  const apis = Array.from({ length: 16 }, () => site.newApi());
  for (const { json } of await Promise.all(apis.map((api) => api.connectivity(siteDevice(0)))))
    assert.equal(json.code, 0);
  return site;
}

test('a core with fronts that meets a fatal error exits with 1', { skip }, async (t) => {
  const { server, pid } = await openSite(t);
  process.kill(pid, 'SIGWINCH');
  assert.equal(await server.command.ended, 1, server.command.stderr);
  assert.match(server.command.lines.at(-1) ?? '', /fatal: unexpected error/);
});

test('a core with fronts that are stuck meets a fatal error and is killed', { skip }, async (t) => {
  const { server, pid } = await openSite(t);
  process.kill(pid, 'SIGPWR');
  assert.equal(await server.command.ended, null);
  assert.doesNotMatch(server.command.stderr, /open handles/);
});

test('a second SIGTERM ends a server with fronts by the signal', { skip }, async (t) => {
  const site = await openSite(t);
  await Promise.all(Array.from({ length: devices }, (_, device) => site.module(device)));
  process.kill(site.pid, 'SIGTERM');
  const events = { path: '/v1/events', query: 'limit=100' };
  // The next device keeps its session for a second more, so nothing is written meanwhile.
  await until(
    () => site.api.call(events),
    ({ text }) => text.includes('device.sleep.offline'),
  );
  assert.equal(await site.stop(), 143, site.server.command.stderr);
});
