import assert from 'node:assert/strict';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { sleepSessions } from '../../src/core/devices/admit-session.ts';
import { EdgeGate, type EdgeGateSettings } from '../../src/edge/edge-gate.ts';
import { edgePsk } from '../../src/edge/edge-language.ts';
import { connectPsk } from '../../src/lib/link/psk-transport.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import { EdgeScene, type SceneEdge } from '../support/edge-scene.ts';
import { nextTurn, until } from '../support/event-loop.ts';
import { FakeTelemetry } from '../support/fakes.ts';
import { findFreePort } from '../support/free-port.ts';
import { chanceFrom } from '../support/seeded-random.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const key = Buffer.alloc(32, 7);

function gateOf(t: TestContext, scene: EdgeScene, settings: Partial<EdgeGateSettings>): EdgeGate {
  const { clock, log, deps } = scene.core;
  const sleep = { listen: { host: '127.0.0.1', port: 8081 }, max_sessions: 10, write_deadline_ms: 1000 };
  const gate = new EdgeGate(
    { sleep, socketPath: null, elsewhere: null, ...settings },
    {
      clock,
      log,
      sessions: sleepSessions(deps),
      telemetry: new FakeTelemetry(),
      progress: new LoopProgress(clock),
      release: '2.0.0',
    },
  );
  t.after(() => gate.close());
  return gate;
}

async function connectLocally(t: TestContext, path: string): Promise<Socket> {
  const socket = connect(path);
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

async function isLinked(edge: SceneEdge): Promise<void> {
  await until(() => edge.linkedTimes > 0);
}

test('a local edge is linked over a Unix socket that only this user can open', async (t) => {
  const scene = new EdgeScene();
  const socketPath = join(temporaryDirectory(t), 'edges.sock');
  // A core that was killed left its own there.
  writeFileSync(socketPath, '');
  await gateOf(t, scene, { socketPath }).listen();
  assert.equal(statSync(socketPath).mode & 0o777, 0o600);
  const edge = scene.edge();
  edge.end.attach(await connectLocally(t, socketPath));
  await isLinked(edge);
  const module = edge.ask();
  await until(() => module.answer !== null);
  assert.equal(module.ticket.epoch, 1);
  assert.equal(
    await scene.core.directory.find(module.ticket.deviceId)?.connection('sleep')?.wake(null),
    'written',
  );
});

test('a path that no socket can have is refused with a sentence', async (t) => {
  const socketPath = join(temporaryDirectory(t), 'nowhere', 'edges.sock');
  await assert.rejects(gateOf(t, new EdgeScene(), { socketPath }).listen(), {
    message: /^cannot listen for edges on .*edges\.sock: /,
  });
});

test('an edge elsewhere is linked by the key that both ends have, and not by another', async (t) => {
  const scene = new EdgeScene();
  const keyFile = join(temporaryDirectory(t), 'edges.key');
  writeFileSync(keyFile, key);
  const address = { host: '127.0.0.1', port: await findFreePort('127.0.0.1') };
  await gateOf(t, scene, { elsewhere: { address, keyFile } }).listen();
  const { clock } = scene.core;
  await assert.rejects(connectPsk({ ...address, key: Buffer.alloc(32, 8) }, edgePsk, clock), {
    message: `no link to 127.0.0.1:${address.port}: it has another key: give both ends the same key file, edges.key_file at the core and edge.key_file at the edge`,
  });
  await until(() => scene.core.log.lines.some(({ level }) => level === 'warn'));
  assert.equal(
    scene.core.log.lines.at(-1)?.message,
    'the port of the edges: somebody at 127.0.0.1 has another key for the link: give both ends the same key file, edges.key_file at the core and edge.key_file at the edge',
  );
  const edge = scene.edge();
  const stream = await connectPsk({ ...address, key }, edgePsk, clock);
  t.after(() => stream.destroy());
  edge.end.attach(stream);
  await isLinked(edge);
  const module = edge.ask();
  await until(() => module.answer !== null);
  assert.equal(module.ticket.epoch, 1);
});

test('a key that is too short is refused with a sentence', async (t) => {
  const keyFile = join(temporaryDirectory(t), 'edges.key');
  writeFileSync(keyFile, 'short');
  const elsewhere = { address: { host: '127.0.0.1', port: 0 }, keyFile };
  await assert.rejects(gateOf(t, new EdgeScene(), { elsewhere }).listen(), {
    message: `edges.key_file: ${keyFile} has 5 bytes; at least 32: openssl rand -out ${keyFile} 32`,
  });
});

test('bytes at random on the Unix socket end their connection, and edges are still linked', async (t) => {
  const scene = new EdgeScene();
  const chance = chanceFrom(20_261_128);
  const socketPath = join(temporaryDirectory(t), 'edges.sock');
  const gate = gateOf(t, scene, { socketPath });
  await gate.listen();
  for (let round = 0; round < 50; round += 1) {
    const stranger = await connectLocally(t, socketPath);
    stranger.on('error', () => undefined).resume();
    const bytes = Buffer.from(Array.from({ length: 8 + chance.below(200) }, () => chance.below(256)));
    // A length that is in order, so that what is in it is read.
    if (chance.below(2) === 0) bytes.writeUInt32BE(bytes.length - 4);
    stranger.end(bytes);
    await once(stranger, 'close');
  }
  await nextTurn();
  const edge = scene.edge();
  edge.end.attach(await connectLocally(t, socketPath));
  await isLinked(edge);
  assert.deepEqual(
    gate.edges().map(({ name }) => name),
    ['edge-1'],
  );
});
