/** An edge on another machine outlives the server: its sessions continue at the next one. Source: docs/edges.md, When something fails. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { LongCommand } from '../support/cli-process.ts';
import { readEvents } from '../support/crash-load.ts';
import { EdgesSite } from '../support/edges-site.ts';
import { EventReader } from '../support/event-reader.ts';
import { findFreePort } from '../support/free-port.ts';
import { settingArguments } from '../support/server-process.ts';
import { hasCode, isAsleep, siteDevice, siteIdentity, until, wake } from '../support/site-server.ts';
import { lastFirst, temporaryDirectory } from '../support/temporary-store.ts';

test('a server that is stopped in order leaves edges elsewhere their sessions, and the next one continues them', async (context) => {
  const t = lastFirst(context);
  const keyFile = join(temporaryDirectory(t), 'edge.key');
  writeFileSync(keyFile, randomBytes(32), { mode: 0o600 });
  const core = `127.0.0.1:${await findFreePort('127.0.0.1')}`;
  const settings = [`edges.listen=${core}`, `edges.key_file=${keyFile}`];
  const site = await EdgesSite.open(t, { edges: 1, devices: 2, settings });
  const own = settingArguments(['edge.name=north', 'edge.listen=127.0.0.1:0']);
  const edge = new LongCommand(t, ['edge', '--core', core, '--key-file', keyFile, ...own]);
  const { listeners } = await edge.logged<{ listeners: { sleep: string } }>('ready');
  const elsewhere = await SleepingModule.connect(Number(listeners.sleep.split(':').at(-1)), siteIdentity(0));
  const local = await site.module(1);
  for (const device of [0, 1]) await until(() => site.api.connectivity(siteDevice(device)), isAsleep);
  const { next } = await readEvents(site.api, 'latest', 1);

  assert.equal(await site.stop(), 0);
  await local.closed;
  await site.start();
  await until(() => wake(site.api, 0), hasCode(0));
  assert.equal((await elsewhere.nextPacket()).length, 8);
  const told = await new EventReader(site.newApi(), next).rest();
  assert.deepEqual(
    told
      .filter(({ type }) => type.startsWith('device.sleep'))
      .map(({ type, device_id, data }) => [type, device_id, data['reason']]),
    [['device.sleep.offline', siteDevice(1), 'drain']],
  );
});
