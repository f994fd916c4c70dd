import assert from 'node:assert/strict';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { sleepSessions } from '../../src/core/devices/admit-session.ts';
import { EdgeGate, type EdgeGateSettings } from '../../src/edge/edge-gate.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import { EdgeScene, type SceneEdge } from '../support/edge-scene.ts';
import { until } from '../support/event-loop.ts';
import { FakeTelemetry } from '../support/fakes.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

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
  // A killed core has left its socket file.
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

test('a path that is too long for a socket is refused with a sentence', async (t) => {
  const socketPath = join(temporaryDirectory(t), 'nowhere', 'edges.sock');
  await assert.rejects(gateOf(t, new EdgeScene(), { socketPath }).listen(), {
    message: /^cannot listen for edges on .*edges\.sock: /,
  });
});

test('a short key is refused with a sentence', async (t) => {
  const keyFile = join(temporaryDirectory(t), 'edges.key');
  writeFileSync(keyFile, 'short');
  const elsewhere = { address: { host: '127.0.0.1', port: 0 }, keyFile };
  await assert.rejects(gateOf(t, new EdgeScene(), { elsewhere }).listen(), {
    message: `edges.key_file: ${keyFile} has 5 bytes; at least 32: openssl rand -out ${keyFile} 32`,
  });
});
