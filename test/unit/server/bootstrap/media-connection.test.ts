import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import { linkHeartbeatMs, mediaStartMsMax, mediaStopMsMax } from '../../../../src/model/limits.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { MediaConnection } from '../../../../src/server/bootstrap/media-connection.ts';
import { readLinkKey } from '../../../../src/lib/link/link-key.ts';
import { MediaGate } from '../../../../src/server/children/media-links.ts';
import { mediaProcessSettings } from '../../../../src/server/config/derived-settings.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { LegServiceScene } from '../../../support/leg-service-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeCarrier } from '../../../support/fake-carriers.ts';
import { FakeLog, FakeTelemetry } from '../../../support/fakes.ts';
import { mediaCounts, FakeMediaProcess } from '../../../support/linked-leg-service.ts';
import { MediaEnd } from '../../../../src/media/link/media-end.ts';
import { connectPsk } from '../../../../src/lib/link/psk-transport.ts';
import { mediaPsk } from '../../../../src/media/link/media-language.ts';
import { LoopProgress } from '../../../../src/lib/loop-progress.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

class GatewaysScene {
  readonly clock = new DrivenClock();
  readonly carrier = new FakeCarrier(this.clock, 100);
  readonly front: MediaConnection;
  /** Notifications of the owner. */
  readonly told: string[] = [];
  /** Faults with which links ended. */
  readonly ends: (string | null)[] = [];

  constructor() {
    const { service, keys } = new LegServiceScene();
    const owner = {
      processConnected: (instance: string) => this.told.push(`${instance} has come`),
      loadReported: () => this.told.push('load'),
      processDisconnected: () => this.told.push('gone'),
    };
    const log = new FakeLog();
    this.front = new MediaConnection({
      process: 0,
      elsewhere: () => null,
      clock: this.clock,
      log,
      owner,
      service,
      keys,
      telemetry: new FakeTelemetry(),
      progress: new LoopProgress(this.clock),
    });
  }

  attach(carrier = this.carrier): ReturnType<MediaConnection['attach']> {
    return this.front.attach(carrier.link, null, (fault) => this.ends.push(fault));
  }

  async awaitTurns(): Promise<void> {
    for (let i = 0; i < 6; i += 1) await turn();
  }
}

test('without a media process all requests have empty answers', async () => {
  const { front } = new GatewaysScene();
  assert.deepEqual([front.address, front.isTaken, front.capacity()], [null, false, null]);
  assert.equal(await front.view('session-1' as SessionId), null);
  front.keysChanged();
  front.reloadTls();
  await front.drain();
  front.close();
});

test('a connected media process receives requests and notices until its link ends', async () => {
  const scene = new GatewaysScene();
  const { front, carrier, clock } = scene;
  const attaching = scene.attach();
  assert.deepEqual([front.address, front.isTaken], [null, true]);
  await scene.awaitTurns();
  carrier.listen(8083);
  assert.deepEqual(await attaching, { host: '127.0.0.1', port: 8083 });
  assert.deepEqual(front.address, { host: '127.0.0.1', port: 8083 });
  clock.advance(1000);
  await scene.awaitTurns();
  const { legs, sessions, workers, engine, soundEncoders } = mediaCounts;
  assert.deepEqual(front.capacity(), {
    process: 0,
    address: '127.0.0.1:8083',
    legs,
    sessions,
    workers,
    engine,
    soundEncoders,
  });
  front.reloadTls();
  await front.drain();
  assert.deepEqual(carrier.asked, ['reload TLS', 'drain']);
  assert.deepEqual([front.address, front.isTaken, front.capacity()], [null, false, null]);
  assert.deepEqual(scene.ends, [null]);
  assert.equal(clock.pendingTimers, 0);
});

test('a child cannot report another address than its settings', async () => {
  const scene = new GatewaysScene();
  const { front, carrier } = scene;
  const settings = mediaProcessSettings(loadSettings({ env: {}, overrides: ['media.listen=127.0.0.1:0'] }));
  const attaching = front.attach(carrier.link, settings, () => undefined);
  await scene.awaitTurns();
  carrier.listen(8083, '192.0.2.1', 'https://another.example');
  assert.deepEqual(await attaching, { host: '127.0.0.1', port: 8083 });
  const address = { host: '127.0.0.1', port: 8083 };
  assert.deepEqual(front.lastReach, { process: 0, address, advertise: null });
});

test('the owner is notified of the connect, of each load report, and of the disconnect', async () => {
  const scene = new GatewaysScene();
  const attaching = scene.attach();
  await scene.awaitTurns();
  assert.deepEqual(scene.told, ['media 100 has come']);
  scene.carrier.listen(8083);
  await attaching;
  assert.deepEqual(scene.told, ['media 100 has come', 'load'], 'it is known when it listens');
  scene.clock.advance(linkHeartbeatMs);
  await scene.awaitTurns();
  scene.carrier.die('SIGSEGV');
  await scene.awaitTurns();
  assert.deepEqual(scene.told, ['media 100 has come', 'load', 'load', 'gone']);
});

test('a media process that disconnects while it begins to listen does not count as listening', async () => {
  const scene = new GatewaysScene();
  const attaching = scene.attach();
  await scene.awaitTurns();
  scene.carrier.listen(8083);
  void scene.carrier.end.end();
  await attaching.catch(() => undefined);
  await scene.awaitTurns();
  assert.deepEqual([scene.front.address, scene.front.isTaken], [null, false]);
});

test('the link ends if a media process does not listen in time', async () => {
  const scene = new GatewaysScene();
  const attaching = assert.rejects(scene.attach(), /it did not listen within 20000 ms/);
  for (let ms = 0; ms < mediaStartMsMax; ms += 1000) {
    await scene.awaitTurns();
    scene.clock.advance(1000);
  }
  await attaching;
  await scene.awaitTurns();
  assert.deepEqual([scene.front.isTaken, scene.ends], [false, [null]]);
});

test('the late end of an old link does not affect the next', async () => {
  const scene = new GatewaysScene();
  const first = scene.attach();
  await scene.awaitTurns();
  scene.carrier.listen(8083);
  await first;
  const next = new FakeCarrier(scene.clock, 101);
  const second = scene.attach(next);
  assert.deepEqual(scene.front.address, null, 'it does not listen yet');
  await scene.awaitTurns();
  next.listen(8084);
  await second;
  scene.carrier.die('SIGSEGV');
  await scene.awaitTurns();
  assert.deepEqual(scene.front.address, { host: '127.0.0.1', port: 8084 });
});

class RemoteMediaPeer {
  readonly end: MediaEnd;
  readonly process = new FakeMediaProcess();
  readonly ended: Promise<string | null>;

  constructor(link: Awaited<ReturnType<typeof connectPsk>>, clock: DrivenClock) {
    let resolve: (fault: string | null) => void = () => undefined;
    this.ended = new Promise((settle) => (resolve = settle));
    this.end = new MediaEnd({ clock, onEnd: resolve });
    this.end.attach(link);
    this.end.started().catch(() => undefined);
  }

  async listen(): Promise<void> {
    await this.end.started();
    this.end.ready({ host: '10.0.0.7', port: 8083 }, this.process);
  }
}

class GateScene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly key = randomBytes(32);
  readonly connections: readonly MediaConnection[];
  readonly gate: MediaGate;

  constructor(t: Ending, processes = 1) {
    const { clock, log } = this;
    const { service, keys } = new LegServiceScene();
    const owner = {
      processConnected: () => undefined,
      loadReported: () => undefined,
      processDisconnected: () => undefined,
    };
    const progress = new LoopProgress(clock);
    const telemetry = new FakeTelemetry();
    const deps = { clock, log, service, elsewhere: () => null, owner, keys, telemetry, progress };
    this.connections = Array.from(
      { length: processes },
      (_, process) => new MediaConnection({ ...deps, process }),
    );
    const keyFile = join(temporaryDirectory(t), 'link.key');
    writeFileSync(keyFile, this.key);
    const address = { host: '127.0.0.1', port: 0 };
    this.gate = new MediaGate({ address, keyFile }, { clock, log, connections: this.connections });
    t.after(() => this.gate.close());
  }

  get connection(): MediaConnection {
    const [first = assert.fail()] = this.connections;
    return first;
  }

  async viewer(): Promise<RemoteMediaPeer> {
    const { address } = await this.logged<{ address: string }>(
      'media port: listening for media processes elsewhere',
    );
    const port = Number(address.split(':').at(-1));
    return new RemoteMediaPeer(
      await connectPsk({ host: '127.0.0.1', port, key: this.key }, mediaPsk, this.clock),
      this.clock,
    );
  }

  async logged<Fields>(message: string): Promise<Fields> {
    for (;;) {
      const line = this.log.lines.find((each) => each.message.startsWith(message));
      if (line !== undefined) return line.fields as Fields;
      await turn();
    }
  }
}

test('a media process with the key is linked, and its end is logged', async (t) => {
  const scene = new GateScene(t);
  await scene.gate.start();
  assert.equal(scene.connection.address, null);
  const viewer = await scene.viewer();
  await viewer.listen();
  await scene.logged('media process: linked');
  assert.deepEqual(scene.connection.address, { host: '10.0.0.7', port: 8083 });
  await viewer.end.end();
  assert.deepEqual(await scene.logged('media process: link ended'), {
    media_process: 0,
    fault: null,
  });
  assert.equal(scene.connection.isTaken, false);
});

test('media processes are linked up to the limit, and a freed number is reused', async (t) => {
  const scene = new GateScene(t, 2);
  await scene.gate.start();
  const first = await scene.viewer();
  await first.listen();
  const second = await scene.viewer();
  await second.listen();
  const up = (): (number | null)[] => scene.connections.map((each) => each.capacity()?.process ?? null);
  while (up().includes(null)) await turn();
  assert.match((await (await scene.viewer()).ended) ?? '', /allows are linked: 2/);
  await first.end.end();
  while (up()[0] !== null) await turn();
  assert.deepEqual(up(), [null, 1]);
  await (await scene.viewer()).listen();
  while (up().includes(null)) await turn();
});

test('a media process that cannot listen frees its number, and its reason is logged', async (t) => {
  const scene = new GateScene(t);
  await scene.gate.start();
  const viewer = await scene.viewer();
  await viewer.end.started();
  viewer.end.failed('media.listen is taken');
  await viewer.ended;
  const { err } = await scene.logged<{ err: Error }>('media process: connected but does not listen');
  assert.equal(err.message, 'media.listen is taken');
  while (scene.connection.isTaken) await turn();
});

test('a stop accepts no new media process, drains the linked ones, and has a maximum wait', async (t) => {
  const scene = new GateScene(t);
  await scene.gate.start();
  const viewer = await scene.viewer();
  await viewer.listen();
  await scene.logged('media process: linked');
  let isStopped = false;
  const stopping = scene.gate.stop().then(() => (isStopped = true));
  while (viewer.process.asked.length === 0) await turn();
  await assert.rejects(scene.viewer(), /no link to/);
  assert.equal(isStopped, false);
  scene.clock.advance(mediaStopMsMax);
  await stopping;
  assert.deepEqual(viewer.process.asked, ['drain']);
});

test('a stop whose media process drains ends its link', async (t) => {
  const scene = new GateScene(t);
  await scene.gate.start();
  const viewer = await scene.viewer();
  await viewer.listen();
  await scene.logged('media process: linked');
  const stopping = scene.gate.stop();
  while (viewer.process.asked.length === 0) await turn();
  viewer.process.drained();
  await stopping;
  assert.equal(await viewer.ended, null);
  assert.ok(!scene.log.lines.some(({ message }) => message.endsWith('link ended')), 'nobody is missed');
});

test('a port in use, or an invalid key, fails the start', async (t) => {
  const scene = new GateScene(t);
  await scene.gate.start();
  const { address } = await scene.logged<{ address: string }>(
    'media port: listening for media processes elsewhere',
  );
  const keyFile = join(temporaryDirectory(t), 'link.key');
  const { clock, log, connections } = scene;
  const port = Number(address.split(':').at(-1));
  const other = new MediaGate({ address: { host: '127.0.0.1', port }, keyFile }, { clock, log, connections });
  await assert.rejects(other.start(), { message: `media.link_key_file: ${keyFile} cannot be read` });
  writeFileSync(keyFile, randomBytes(31));
  await assert.rejects(
    readLinkKey(keyFile, 'media.link_key_file'),
    /has 31 bytes; at least 32: openssl rand/,
  );
  writeFileSync(keyFile, randomBytes(32));
  await assert.rejects(other.start(), {
    message: new RegExp(`cannot listen on 127.0.0.1:${port} \\(media.link_listen\\): in use`),
  });
});
