/** Whatever node is asked: registry, calls, messages, outcomes and the log are those of one server. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { ClusterSite } from '../support/cluster-site.ts';
import { startNats } from '../support/nats-server.ts';
import { deviceEntry, hasCode, isOnline, siteDevice, until, wake } from '../support/site-server.ts';
import { lastFirst, temporaryDirectory } from '../support/temporary-store.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import { oneServerSuite } from './one-server.ts';

const ending = lastFirst({ after });
const nats = await startNats(ending);
const site = await ClusterSite.start(ending, { nats: [nats], nodes: ['a', 'b'] });
const [a, b] = [site.node(0), site.node(1)];

// Devices sleep at one and are awake at the other.
oneServerSuite(
  'nodes',
  {
    registryFile: site.registryFile,
    everywhere: () => [a.api, b.api],
    module: (number) => b.module(number),
    controller: (number) => a.controller(number),
    cli: (...command) => a.cli(...command),
  },
  50,
);

test('5 000 devices that are imported at one node are served by the other, and by one that starts later', async (t) => {
  const file = join(temporaryDirectory(t), 'more.json');
  const devices = Array.from({ length: 5000 }, (_, number) => deviceEntry(`IMPORTED${number}`));
  await writeFile(file, JSON.stringify({ devices }));
  await a.cli('registry', 'import', file);
  const tookMs = await until(() => b.api.connectivity('IMPORTED4999'), hasCode(0));
  t.diagnostic(`there after ${Math.round(tookMs)} ms`);
  const late = await site.add('late');
  assert.equal((await late.api.connectivity('IMPORTED4999')).json.code, 0);
  const module = await late.module('IMPORTED17');
  await until(() => wake(a.api, 'IMPORTED17'), hasCode(0));
  assert.equal((await module.nextPacket()).length, 8);
  assert.equal(await late.stop(), 0);
});

test('the command line shows the nodes, fails while one is not up, and forgets a lost one that is failed over', async (t) => {
  const status = (): Promise<CliResult> => runCli(['cluster', 'status', '--data-dir', a.directory]);
  const lost = await site.add('lost');
  const shown = await status();
  assert.equal(shown.exitCode, 0, shown.stdout);
  assert.match(shown.stdout, /^lost\/0 +up /m);
  // Its end takes a while: it has somebody to send away.
  const controller = await lost.controller(siteDevice(1));
  await lost.kill();
  await controller.closed;
  const endMs = performance.now() + hangMsMax;
  for (let last = shown; /^lost\//m.test(last.stdout); last = await status()) {
    if (last.exitCode === 1) t.diagnostic(last.stdout);
    assert.ok(performance.now() < endMs, last.stdout);
  }
  await until(
    () => a.api.connectivity(siteDevice(1)),
    (answer) => hasCode(0)(answer) && !isOnline(answer),
  );
});

test('a change that is made while NATS is away is shared when it is back', async () => {
  const deviceId = siteDevice(2);
  const module = await b.module(deviceId);
  await nats.kill();
  await a.cli('device', 'disable', deviceId);
  await nats.start();
  await module.closed;
  await until(() => b.api.connectivity(deviceId), hasCode(40403));
});
