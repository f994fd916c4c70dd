/**
 * A media process on another machine, as real processes on this one: `serve --only media` connects to its server over TLS with a
 * pre-shared key. Source: calls-and-media.md, The media process.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { ApiClient } from '../support/api-client.ts';
import { askCredentials, issueCall, type IssuedCall } from '../support/call-actions.ts';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { openLegs, showFrame, untouchedVideo } from '../support/media-process-scene.ts';
import { settingArguments, startServerProcess, type ServerProcess } from '../support/server-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { testBridgeKeys, testCredentials, writeTestRegistry } from '../support/test-server.ts';

interface Scene {
  readonly directory: string;
  readonly keyFile: string;
  readonly server: ServerProcess;
  /** Address of the media port. */
  readonly gate: string;
}

function newKey(directory: string, name = 'link.key'): string {
  const file = join(directory, name);
  writeFileSync(file, randomBytes(32));
  return file;
}

async function startServer(
  t: Ending,
  directory: string,
  keyFile: string,
  gate: string,
  overrides: readonly string[] = [],
): Promise<Scene> {
  const server = await startServerProcess(t, [
    `data.dir=${directory}`,
    `registry.file=${await writeTestRegistry(directory)}`,
    'media.process=elsewhere',
    `media.link_listen=${gate}`,
    `media.link_key_file=${keyFile}`,
    ...overrides,
  ]);
  const { address } = await server.command.logged<{ address: string }>(
    'media port: listening for media processes elsewhere',
  );
  return { directory, keyFile, server, gate: address };
}

function open(t: Ending): Promise<Scene> {
  const directory = temporaryDirectory(t);
  return startServer(t, directory, newKey(directory), '127.0.0.1:0');
}

function serveMedia({ gate, keyFile }: Pick<Scene, 'gate' | 'keyFile'>, listen = '127.0.0.1:0'): string[] {
  const sets = [`media.link_server=${gate}`, `media.link_key_file=${keyFile}`, `media.listen=${listen}`];
  return ['serve', '--only', 'media', ...settingArguments(sets)];
}

function startMedia(t: Ending, scene: Pick<Scene, 'gate' | 'keyFile'>): LongCommand {
  return new LongCommand(t, serveMedia(scene));
}

/** Address at which the media process accepts legs, at its `which`th start. */
async function mediaUrl(media: LongCommand, which = 1): Promise<string> {
  const { listeners } = await media.logged<{ listeners: { media: string } }>('ready', which);
  return `ws://${listeners.media}`;
}

const isUp = 'media process: linked';

/** Plays a call without transcoding, from its issuance to a frame. */
async function playCall(
  t: Ending,
  { server }: Scene,
  url: string,
  change: object = {},
): Promise<{ device: DeviceLeg; bridge: BridgeLeg }> {
  const api = new ApiClient(server.ports.api, testCredentials.all);
  t.after(() => api.close());
  const { device, bridge } = await openLegs({ api, url }, change);
  await showFrame(device, bridge);
  return { device, bridge };
}

const draining = { code: 4503, reason: 'draining' };

test('devices receive the address that a media process elsewhere reports; the end of the server closes its legs', async (t) => {
  const scene = await open(t);
  const api = new ApiClient(scene.server.ports.api, testCredentials.all);
  t.after(() => api.close());
  const before = await askCredentials({ api });
  assert.deepEqual([before.json.code, before.json.data?.['media_url']], [0, undefined]);
  const media = startMedia(t, scene);
  const url = await mediaUrl(media);
  await scene.server.command.logged(isUp);
  assert.equal((await askCredentials({ api })).json.data?.['media_url'], url);
  const another = { device_id: 'SLEEPING01', msg_room_id: 'room-2' };
  const { device, bridge } = await playCall(t, scene, url, another);
  assert.equal(await scene.server.command.stop('SIGTERM'), 0);
  assert.deepEqual(await Promise.all([device.closed, bridge.closed]), [draining, draining]);
  await media.logged('media link: ended; its legs are closed; will reconnect');
  assert.equal(await media.stop('SIGTERM'), 0);
});

test('a media process survives its server, and connects to the next one', async (t) => {
  const scene = await open(t);
  const media = startMedia(t, scene);
  await mediaUrl(media);
  await scene.server.command.stop('SIGKILL');
  await media.logged('media link: ended; its legs are closed; will reconnect');
  const next = await startServer(t, scene.directory, scene.keyFile, scene.gate);
  await playCall(t, next, await mediaUrl(media, 2));
  assert.equal(await next.server.command.stop('SIGTERM'), 0);
});

test('a second media process is declined with the reason, and takes over when the first has ended', async (t) => {
  const scene = await open(t);
  const first = startMedia(t, scene);
  await mediaUrl(first);
  const second = startMedia(t, scene);
  const { fault } = await second.logged<{ fault: string }>(
    'media link: cannot connect to the server; will retry',
  );
  assert.equal(
    fault,
    'the server declined this media process: as many media processes as its media.processes allows are linked: 1',
  );
  await scene.server.command.line((line) => line.includes('media process: declined'));
  await first.stop('SIGKILL');
  await playCall(t, scene, await mediaUrl(second));
  assert.equal(await scene.server.command.stop('SIGTERM'), 0);
});

test('two media processes elsewhere share the calls with their own addresses, and one that reconnects keeps its calls', async (t) => {
  const directory = temporaryDirectory(t);
  const keyFile = newKey(directory);
  const scene = await startServer(t, directory, keyFile, '127.0.0.1:0', ['media.processes=2']);
  const api = new ApiClient(scene.server.ports.api, testCredentials.all);
  t.after(() => api.close());
  const processes = [startMedia(t, scene), startMedia(t, scene)] as const;
  const urls = await Promise.all(processes.map((media) => mediaUrl(media)));
  for (const which of [1, 2]) await scene.server.command.logged(isUp, which);
  const issue = (room: string): Promise<IssuedCall> =>
    issueCall({ api }, { ...untouchedVideo, msg_room_id: room });
  const [one, two] = [await issue('room-1'), await issue('room-2')];
  assert.deepEqual(new Set([one.url, two.url]), new Set(urls));

  const { url, token, session } = one;
  assert(url !== null && two.url !== null);
  const open = async (): Promise<[DeviceLeg, BridgeLeg]> => {
    const bridge = await BridgeLeg.connect({ url, key: testBridgeKeys.own, session });
    return [await DeviceLeg.connect({ url, token }), bridge];
  };
  const legs = await open();
  await showFrame(...legs);
  const elsewhere = { status: 421, reason: new RegExp(`connect to ${url}"`) };
  await assert.rejects(DeviceLeg.connect({ url: two.url, token }), elsewhere);

  await processes[urls.indexOf(url)]?.stop('SIGKILL');
  await Promise.all(legs.map(({ closed }) => closed));
  await scene.server.command.logged('media process: link ended');
  await assert.rejects(DeviceLeg.connect({ url: two.url, token }), elsewhere);
  await mediaUrl(new LongCommand(t, serveMedia(scene, new URL(url).host)));
  await showFrame(...(await open()));
  assert.equal(await scene.server.command.stop('SIGTERM'), 0);
});

test('a media process with a wrong key, or whose port is in use, does not serve, and both sides log the reason', async (t) => {
  const scene = await open(t);
  const media = startMedia(t, { gate: scene.gate, keyFile: newKey(scene.directory, 'other.key') });
  const { fault } = await media.logged<{ fault: string }>(
    'media link: cannot connect to the server; will retry',
  );
  assert.match(fault, /another key: give both ends the same media\.link_key_file/);
  await scene.server.command.line((line) => line.includes('has another key for the link'));
  assert.equal(await media.stop('SIGTERM'), 0);

  const taken = `127.0.0.1:${scene.server.ports.api}`;
  const { exitCode, stderr } = await runCli(serveMedia(scene, taken));
  assert.deepEqual([exitCode, stderr.includes(`cannot listen on ${taken}`)], [1, true]);
  const { err } = await scene.server.command.logged<{ err: { message: string } }>(
    'media process: connected but does not listen',
  );
  assert.match(err.message, /cannot listen on/);
  assert.equal(await scene.server.command.stop('SIGTERM'), 0);
});

test('a missing setting is named as a usage error', async (t) => {
  const directory = temporaryDirectory(t);
  const none = await runCli(['serve', '--only', 'media'], { REVEILLE_DATA_DIR: directory });
  assert.deepEqual([none.exitCode, none.stderr.includes('media.link_server')], [2, true]);
  const gateless = await runCli(['serve'], {
    REVEILLE_DATA_DIR: directory,
    REVEILLE_MEDIA_PROCESS: 'elsewhere',
    REVEILLE_MEDIA_LINK_KEY_FILE: newKey(directory),
  });
  assert.deepEqual([gateless.exitCode, gateless.stderr.includes('link_listen')], [2, true]);
  const keyless = await runCli(['serve', '--only', 'media'], {
    REVEILLE_MEDIA_LINK_SERVER: '127.0.0.1:1',
    REVEILLE_MEDIA_LINK_KEY_FILE: join(directory, 'none.key'),
  });
  assert.deepEqual(
    [keyless.exitCode, /^media\.link_key_file: .*none\.key: no such file/.test(keyless.stderr)],
    [1, true],
  );
});
