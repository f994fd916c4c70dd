/** Failing fronts of a real server: each breaks only its own connections, and is replaced. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { SiteJson } from '../../src/server/site/site-route.ts';
import type { ApiClient } from '../support/api-client.ts';
import { SiteServer, siteDevice, siteRegistry } from '../support/site-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const skip = process.platform === 'linux' ? false : 'a port has several fronts on Linux alone';
const callers = 16;
/** Signal that makes one front fail. */
const faults = { throws: 'SIGWINCH', hangs: 'SIGPWR' } as const;

/** Loaded by every process and thread of the server: a signal causes a fault in the newest front. */
const preload = `data:text/javascript,${encodeURIComponent(`
  import { isMainThread, threadId, workerData } from 'node:worker_threads';
  if (isMainThread && process.argv.includes('serve') || workerData?.perAddressMax !== undefined) {
    const channel = new BroadcastChannel('faults');
    channel.unref();
    if (isMainThread) {
      let last = 0;
      channel.onmessage = ({ data }) => { last = data; };
      for (const [fault, signal] of Object.entries(${JSON.stringify(faults)}))
        process.on(signal, () => channel.postMessage({ fault, front: last }));
    } else {
      channel.postMessage(threadId);
      channel.onmessage = ({ data }) => {
        if (data.front !== threadId) return;
        if (data.fault === 'throws') throw new Error('a fault of the test');
        for (;;);
      };
    }
  }`)}`;

async function openSite(t: TestContext): Promise<SiteServer> {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'registry.json');
  await writeFile(file, JSON.stringify(siteRegistry({ devices: 2 })));
  const site = new SiteServer(t, join(directory, 'data'), [`registry.file=${file}`], ['--fronts', '2']);
  await site.start({ imports: [preload] });
  return site;
}

const isServed = async (api: ApiClient): Promise<boolean> =>
  (await api.connectivity(siteDevice(0))).json.code === 0;

for (const [fault, signal] of Object.entries(faults))
  test(`a front that ${fault} is replaced, and the other one is not affected`, { skip }, async (t) => {
    const site = await openSite(t);
    const apis = Array.from({ length: callers }, () => site.newApi());
    assert.deepEqual(await Promise.all(apis.map(isServed)), Array(callers).fill(true));
    const ends: string[] = [];
    const waits = apis.map((api) =>
      api.call({ path: '/v1/events', query: 'after=latest&wait=30' }).then(
        ({ json }) => void ends.push(String(json.code)),
        () => void ends.push('broken'),
      ),
    );
    process.kill(site.pid, signal);
    const line = await site.server.command.line((said) => said.includes('API front: ended'));
    assert.match(line, fault === 'throws' ? /a fault of the test/ : /its loop has not turned for 5 s/);
    assert.deepEqual(
      await Promise.all(apis.map(isServed)),
      Array(callers).fill(true),
      'new connections are served',
    );
    const broken = ends.length;
    assert.deepEqual(ends, Array(broken).fill('broken'));
    assert(broken > 0 && broken < callers, `${broken} of ${callers} waits are broken`);
    const { fronts } = await site.ops<SiteJson>('/v1/site');
    assert.deepEqual(new Set(fronts.map(({ restarts }) => restarts)), new Set([0, 1]));
    const metrics = await (await fetch(`http://127.0.0.1:${site.ports.ops}/metrics`)).text();
    assert.match(metrics, fault === 'throws' ? /{reason="ended"} 1$/m : /{reason="stuck"} 1$/m);
    assert.equal(await site.stop(), 0);
    await Promise.all(waits);
    assert.deepEqual(ends.slice(broken), Array(callers - broken).fill('0'));
  });
