/**
 * The media process as the child of a real server: its end with and without the server, signals, and messages from the server.
 * Source: calls-and-media.md, The media process; running.md, Stopping.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { callBody, issuance, issueCall } from '../support/call-actions.ts';
import { legUpgrade, readHead } from '../support/media-peer.ts';
import { openLegs, openMediaScene, showFrame, type MediaScene } from '../support/media-process-scene.ts';
import { processGone } from '../support/process-life.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { mediaChild, startServerProcess, withMedia } from '../support/server-process.ts';
import { lastFirst, temporaryDirectory } from '../support/temporary-store.ts';
import { testBridgeKeys } from '../support/test-server.ts';

const draining = { code: 4503, reason: 'draining' };

test('a stop closes legs in order, also those that never answer their close, and ends both processes', async (t) => {
  const scene = await openMediaScene(t);
  const { pid } = await mediaChild(scene.server);
  const { device, bridge } = await openLegs(scene);
  const idler = await RawPeer.connect(scene.server.ports.media);
  const { token } = await issueCall(scene, { device_id: 'SLEEPING01', msg_room_id: 'room-2' });
  const unwakeable = await RawPeer.connect(scene.server.ports.media);
  unwakeable.send(legUpgrade({ Authorization: `Bearer ${token}` }));
  await readHead(unwakeable);
  assert.equal(await scene.server.command.stop('SIGTERM'), 0);
  assert.deepEqual(await Promise.all([device.closed, bridge.closed]), [draining, draining]);
  assert.ok(!scene.server.command.lines.some((line) => line.includes('; killed')));
  await processGone(pid);
  await Promise.all([idler.gone, unwakeable.gone]);
});

test('when the server is killed, the media process closes its legs and ends by itself', async (t) => {
  const scene = await openMediaScene(t);
  const { pid } = await mediaChild(scene.server);
  const { device } = await openLegs(scene);
  await scene.server.command.stop('SIGKILL');
  assert.deepEqual(await device.closed, draining);
  await processGone(pid);
});

const lasting = lastFirst({ after });
/** The server of consecutive tests; the last one stops it. */
let shared: MediaScene;
before(async () => {
  shared = await openMediaScene(lasting);
});

test('a signal to the media process has no effect, since a service manager may signal all processes', async () => {
  const { pid } = await mediaChild(shared.server);
  const { device } = await openLegs(shared);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal);
  await device.ping();
});

test('a port in use fails the start of the server with a sentence', async (t) => {
  const taken = `127.0.0.1:${shared.server.ports.media}`;
  const directory = temporaryDirectory(t);
  await assert.rejects(
    startServerProcess(t, [...withMedia, `data.dir=${directory}`, `media.listen=${taken}`]),
    ({ message }: Error) => message.includes(`media.listen: ${taken}: in use by another program`),
  );
});

test('a token signed with a new key is admitted at once', async () => {
  const ops = new OpsClient(
    `http://127.0.0.1:${shared.server.ports.ops}`,
    findOpsToken(shared.directory) ?? '',
  );
  await ops.change('/v1/token-keys/rotate', {});
  const { token } = await issueCall(shared, { msg_room_id: 'room-of-a-new-key' });
  await (await DeviceLeg.connect({ url: shared.url, token })).ping();
});

test('a media process that hangs is killed and replaced, and its call continues', async (t) => {
  const { server, url } = shared;
  const { pid } = await mediaChild(server);
  const { device, token } = await openLegs(shared, { msg_room_id: 'room-of-a-hang' });
  process.kill(pid, 'SIGSTOP');
  t.after(() => tryKill(pid));
  await device.closed;
  await mediaChild(server, 2);
  const death = await server.command.logged<MediaDeath>('media process: died; restarting');
  const { how, why } = death;
  assert.deepEqual([death.pid, how, why.slice(0, 32)], [pid, 'SIGKILL', 'the media process was silent for']);
  const again = await DeviceLeg.connect({ url, token });
  await again.ping();
  assert.equal(await server.command.stop('SIGINT'), 0);
  assert.deepEqual(await again.closed, draining);
});

interface MediaDeath {
  readonly pid: number;
  readonly how: string;
  readonly why: string;
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended.
  }
}

/** Preload that hides the package node-av from a process. */
function withoutDecoders(directory: string): NodeJS.ProcessEnv {
  const hook = join(directory, 'hook.mjs');
  writeFileSync(
    hook,
    `export async function resolve(specifier, context, next) {
      if (!specifier.startsWith('node-av')) return next(specifier, context);
      throw Object.assign(new Error(\`Cannot find package '\${specifier}'\`), { code: 'ERR_MODULE_NOT_FOUND' });
    }`,
  );
  const hider = join(directory, 'hider.cjs');
  const registration = `require('node:module').register(${JSON.stringify(pathToFileURL(hook).href)});`;
  writeFileSync(hider, registration);
  return { NODE_OPTIONS: `--require ${hider}` };
}

test('without decoders the server reports it, carries calls that need none and refuses the rest', async (t) => {
  const scene = await openMediaScene(t, [], withoutDecoders(temporaryDirectory(t)));
  const { server, url } = scene;
  await server.command.line((line) => line.includes('no video decoding'));
  const { device, bridge } = await openLegs(scene);
  await showFrame(device, bridge);

  const fit = await issueCall(scene, { device_id: 'SLEEPING01', msg_room_id: 'room-2' });
  await assert.rejects(DeviceLeg.connect({ url, token: fit.token }), { status: 503, reason: /decod/ });
  const late = await BridgeLeg.connect({ url, key: testBridgeKeys.own, session: fit.session });
  assert.deepEqual(await late.closed, { code: 4503, reason: 'media_full' });
  assert.equal(await server.command.stop('SIGTERM'), 0);
});

test('a server without media has no media process, and everything else works', async (t) => {
  const { api, server } = await openMediaScene(t, ['media.process=none']);
  const { json } = await api.call({ ...issuance, body: JSON.stringify(callBody()) });
  assert.equal(json.code, 0);
  const metrics = await (await fetch(`http://127.0.0.1:${server.ports.ops}/metrics`)).text();
  assert.match(metrics, /^reveille_media_up 0$/m);
});
