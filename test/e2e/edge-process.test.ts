/**
 * Edges as processes of their own: they hold the sockets, whatever becomes of the core and of each other. Source:
 * scale-out.md, Edges; sleep-wire.md.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { test } from 'node:test';
import { wallSeconds } from '../../src/lib/clock.ts';
import { EdgeProcessScene } from '../support/edge-process-scene.ts';
import { until } from '../support/event-loop.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { certificateShown, noOpenssl, TestCertificate } from '../support/test-certificate.ts';

const wakeup = '983b16f8f39c';

test('a module logs in at an edge, is woken, and its heartbeat and its end reach the core', async (t) => {
  const scene = await EdgeProcessScene.open(t);
  await scene.startEdge('edge-1');
  const { peer } = await scene.logIn();
  const connection = scene.sessions.connection();
  assert.equal(await connection.wake(null), 'written');
  assert.equal(await connection.wake(Buffer.from([0x12, 0xab])), 'written');
  const packets = Buffer.from(await peer.read(16), 'latin1').toString('hex');
  assert.equal(packets, `${wakeup}0000${wakeup}12ab`);
  const beforeAt = wallSeconds(scene.clock);
  peer.send('h');
  await until(() => connection.lastHeartbeatAt >= beforeAt);
  peer.socket.end();
  const [end] = await scene.sessions.endedSessions();
  assert.equal(end?.reason, 'peer_closed');
});

test('sockets stay while the core is away, and the next core has their sessions and the logins that waited', async (t) => {
  const scene = await EdgeProcessScene.open(t);
  await scene.startEdge('edge-1');
  const { peer } = await scene.logIn();
  await scene.loseCore();
  scene.sessions.connections.clear();
  scene.sessions.secrets.set('TESTDEVICE02', 'device-secret');
  const late = await scene.arrive();
  late.sendLogin('TESTDEVICE02');
  await scene.newCore();
  assert.equal(await late.peer.read(3), 'OK\n');
  assert.equal(await scene.sessions.connection().wake(null), 'written');
  assert.equal(Buffer.from(await peer.read(8), 'latin1').toString('hex'), `${wakeup}0000`);
  assert.deepEqual(scene.sessions.ends, []);
});

test('two edges share a port; where one is killed the other accepts, and so does its successor', async (t) => {
  const scene = await EdgeProcessScene.open(t);
  const edges = [await scene.startEdge('edge-1'), await scene.startEdge('edge-2')] as const;
  const holders = await logInEverywhere(scene, 2);
  const victim = scene.edges.find(({ name }) => name === 'edge-1');
  assert(victim !== undefined);
  process.kill(victim.pid, 'SIGKILL');
  await until(() => scene.sessions.ends.length === holders.get(victim.pid));
  assert.ok(scene.sessions.ends.every(({ reason }) => reason === 'node_lost'));
  await scene.logIn('MEANWHILE');
  const { pid } = await scene.listening('edge-1', victim.pid);
  const after = await logInEverywhere(scene, 2);
  assert.ok(after.has(pid));
  assert.deepEqual(
    edges.map((edge) => edge.facts.restarts),
    [1, 0],
  );
});

test('an edge that is full leaves modules to another one; where all are full a device may replace its session', async (t) => {
  const scene = await EdgeProcessScene.open(t, { max_sessions: 2 });
  await scene.startEdge('edge-1');
  await scene.startEdge('edge-2');
  // A module that comes between the last login and the word that others have room is refused as busy, and tries again.
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

/** Modules log in until so many edges hold one. Sessions by the process that holds them. */
async function logInEverywhere(scene: EdgeProcessScene, edges: number): Promise<Map<number, number>> {
  const started = scene.sessions.logins.length;
  for (let number = 0; ; number += 1) {
    const holders = scene.edges.filter(({ sessions }) => sessions > 0);
    if (number > 0 && holders.length >= edges)
      return new Map(holders.map(({ pid, sessions }) => [pid, sessions]));
    await scene.logIn(`DEVICE-${started}-${number}`);
  }
}

test('an order of the core drains an edge, which leaves its port and listens again for the next core', async (t) => {
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

test('an edge that is ordered to stop ends its sessions in order, and is gone', async (t) => {
  const scene = await EdgeProcessScene.open(t);
  const edge = await scene.startEdge('edge-1');
  const { peer } = await scene.logIn();
  await edge.stop(10_000);
  assert.equal(await peer.gone, 'end');
  assert.equal((await scene.sessions.endedSessions())[0]?.reason, 'drain');
  assert.ok(!scene.log.lines.some(({ message }) => message.includes('does not stop')));
});

/** In later Nodes more of the program itself is resident, which all processes share. */
const residentMebibytesMax = process.version.startsWith('v20.') ? 60 : 75;

test(
  'an edge reads its certificate again by an order of the core, and says why it cannot',
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
  'an edge is small, has no native module, and nothing of its environment that it does not need',
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
