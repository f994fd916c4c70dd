/** Signs of fronts for operators, of a real server: its ready line, `/v1/site`, the command line, metrics and `/readyz`. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { FrontJson, SiteJson } from '../../src/server/site/site-route.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { SiteServer, siteAppId, siteDevice, siteRegistry } from '../support/site-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const skip = process.platform === 'linux' ? false : 'a port has several fronts on Linux alone';
const callers = 16;

async function openSite(): Promise<SiteServer> {
  const directory = temporaryDirectory({ after });
  const file = join(directory, 'registry.json');
  await writeFile(file, JSON.stringify(siteRegistry({ devices: 1 })));
  const site = new SiteServer(
    { after },
    join(directory, 'data'),
    [`registry.file=${file}`],
    ['--edges', '1', '--fronts', '2'],
  );
  await site.start();
  return site;
}

async function frontsOf(site: SiteServer): Promise<readonly FrontJson[]> {
  return (await site.ops<SiteJson>('/v1/site')).fronts;
}

async function samplesOf({ ports }: SiteServer): Promise<readonly string[]> {
  const answer = await fetch(`http://127.0.0.1:${ports.ops}/metrics`);
  return (await answer.text()).split('\n');
}

/** Fronts publish their counts several times a second. */
async function shown(site: SiteServer, isWanted: (fronts: readonly FrontJson[]) => boolean): Promise<void> {
  const startedMs = performance.now();
  while (!isWanted(await frontsOf(site))) {
    assert.ok(performance.now() - startedMs < hangMsMax, 'the fronts are shown as wanted');
    await wait(25);
  }
}

test('a server with fronts shows each to its operators', { skip }, async () => {
  const site = await openSite();
  const ready = site.server.command.lines.find((line) => line.includes('"msg":"ready"')) ?? '{}';
  assert.equal((JSON.parse(ready) as { readonly fronts: number }).fronts, 2);
  assert.equal((await site.readiness()).status, 200);

  const apis = Array.from({ length: callers }, () => site.newApi());
  await Promise.all(apis.map((api) => api.connectivity(siteDevice(0))));
  const waits = apis.map((api) => api.call({ path: '/v1/events', query: 'after=latest&wait=30' }));
  const sum = (fronts: readonly FrontJson[], read: (front: FrontJson) => number): number =>
    fronts.reduce((total, front) => total + read(front), 0);
  await shown(site, (fronts) => sum(fronts, (front) => front.open_calls) === callers);
  await shown(site, (fronts) => sum(fronts, ({ connections }) => connections) === callers);
  await shown(site, (fronts) => fronts.every(({ utilization: busy }) => busy > 0 && busy < 1));
  await shown(site, (fronts) => fronts.every((front) => front.waiting_calls === 0));
  for (const { state, restarts, since } of await frontsOf(site))
    assert.deepEqual([state, restarts, Date.parse(since) <= Date.now()], ['up', 0, true]);

  await site.ops('/v1/credential/create', 'POST', { app_id: siteAppId });
  const samples = await samplesOf(site);
  for (const sample of [
    'reveille_front_up{front="front-0"} 1',
    'reveille_front_up{front="front-1"} 1',
    'reveille_front_replacements{reason="credentials"} 0',
    'reveille_front_credentials_seconds_count 1',
    `reveille_connections{listener="api"} ${callers}`,
  ])
    assert.ok(samples.includes(sample), sample);

  assert.match(
    await site.cli('status', '--site'),
    /^core +up [^]*\n\nfront +state [^]*^front-0 +up +\d+ +0 +\d+ +\d+ % +0 [^]*^front-1 +up /m,
  );
  assert.equal(await site.stop(), 0);
  await Promise.all(waits);
});
