/**
 * Edges as separate processes: they keep the sockets when the core or another edge fails. Source: scale-out.md, Edges; sleep-wire.md.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { test } from 'node:test';
import { EdgeProcessScene } from '../support/edge-process-scene.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { certificateShown, noOpenssl, TestCertificate } from '../support/test-certificate.ts';

test('a full edge leaves modules to another one; when all are full a device may still replace its session', async (t) => {
  const scene = await EdgeProcessScene.open(t, { max_sessions: 2 });
  await scene.startEdge('edge-1');
  await scene.startEdge('edge-2');
  // A module that connects before the full edge knows that others have room is refused as busy, and retries.
  for (const device of ['A', 'B', 'C', 'D']) while ((await scene.tryLogin(device)) !== 'OK');
  assert.deepEqual(
    scene.edges.map(({ sessions }) => sessions),
    [2, 2],
  );
  let answer = 'refused';
  while (answer === 'refused') answer = await scene.tryLogin('E');
  assert.equal(answer, 'ERR busy');
  assert.equal(await scene.tryLogin('A'), 'OK');
});

test('an order of the core drains an edge, which closes its port and listens again for the next core', async (t) => {
  const scene = await EdgeProcessScene.open(t);
  const edge = await scene.startEdge('edge-1');
  const { peer } = await scene.logIn();
  assert.equal(await scene.gate.drain(1000, 5000), 0);
  assert.equal(await peer.gone, 'end');
  assert.equal(scene.sessions.ends[0]?.reason, 'drain');
  while (await isListenedOn(scene.port));
  await scene.loseCore();
  await scene.newCore();
  await scene.listening('edge-1');
  await scene.logIn();
  assert.equal(edge.facts.restarts, 0);
});

function isListenedOn(port: number): Promise<boolean> {
  const caller = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    caller.once('error', () => resolve(false));
    caller.once('connect', () => {
      caller.destroy();
      resolve(true);
    });
  });
}

/** Later versions of Node keep more of the program itself resident, which all processes share. */
const residentMebibytesMax = process.version.startsWith('v20.') ? 60 : 75;

test(
  'an edge reloads its certificate on an order of the core, and reports a failure',
  { skip: noOpenssl },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('first');
    const scene = await EdgeProcessScene.open(t, certificate.settings);
    await scene.startEdge('edge-1');
    assert.equal(await certificateShown(scene.port), 'first');
    certificate.use('second');
    await scene.gate.reloadTls();
    assert.equal(await certificateShown(scene.port), 'second');
    certificate.spoil();
    await assert.rejects(scene.gate.reloadTls(), /^Error: edge edge-1: /);
    assert.equal(await certificateShown(scene.port), 'second');
  },
);

const isLinux = process.platform === 'linux';

test(
  'an edge is small, and has no native module and no needless environment variable',
  { skip: !isLinux },
  async (t) => {
    process.env['REVEILLE_TEST_SECRET'] = 'not for edges';
    t.after(() => delete process.env['REVEILLE_TEST_SECRET']);
    const scene = await EdgeProcessScene.open(t);
    await scene.startEdge('edge-1');
    await scene.logIn();
    const { pid } = await scene.listening('edge-1');
    const maps = readFileSync(`/proc/${pid}/maps`, 'latin1');
    assert.match(maps, /node/);
    assert.ok(!maps.includes('.node'), 'a native module is loaded');
    const [, kibibytes = ''] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    assert.ok(Number(kibibytes) / 1024 <= residentMebibytesMax, `${kibibytes} KiB`);
    assert.ok(!readFileSync(`/proc/${pid}/environ`, 'latin1').includes('REVEILLE_'));
  },
);
