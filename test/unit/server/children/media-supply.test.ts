import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { linkSilenceMsMax, mediaRestartMsMax, mediaRestartMsMin } from '../../../../src/model/limits.ts';
import { mediaLegsDefaults } from '../../../support/listener-defaults.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { MediaConnection } from '../../../../src/server/bootstrap/media-connection.ts';
import { mediaSupply, type MediaSupply } from '../../../../src/server/children/media-supply.ts';
import { LoopProgress } from '../../../../src/lib/loop-progress.ts';
import { LegServiceScene } from '../../../support/leg-service-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeCarrier } from '../../../support/fake-carriers.ts';
import { FakeLog, FakeTelemetry } from '../../../support/fakes.ts';

const listeningPort = 8083;

class MediaSupervisorScene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly carriers: FakeCarrier[] = [];
  readonly connections: readonly MediaConnection[];
  readonly supervisor: MediaSupply;

  constructor(processes = 1) {
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
    const settings = loadSettings({
      env: {},
      overrides: ['media.listen=127.0.0.1:0', `media.processes=${processes}`],
    });
    const startMedia = (): FakeCarrier => this.#start();
    this.supervisor = mediaSupply(settings, {
      clock,
      log,
      connections: this.connections,
      startMedia,
      mediaSite: null,
    });
  }

  /** A started media process that listens. */
  async serving(): Promise<FakeCarrier> {
    const starting = this.supervisor.start();
    await this.awaitTurns();
    this.last.listen(listeningPort);
    await starting;
    return this.last;
  }

  get connection(): MediaConnection {
    const [first = assert.fail()] = this.connections;
    return first;
  }

  get last(): FakeCarrier {
    const carrier = this.carriers.at(-1);
    assert(carrier !== undefined);
    return carrier;
  }

  async awaitTurns(): Promise<void> {
    for (let i = 0; i < 6; i += 1) await turn();
  }

  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 1000) {
      this.clock.advance(Math.min(leftMs, 1000));
      await this.awaitTurns();
    }
  }

  logged(message: string): Record<string, unknown>[] {
    return this.log.lines.filter((line) => line.message === message).map(({ fields }) => ({ ...fields }));
  }

  #start(): FakeCarrier {
    const carrier = new FakeCarrier(this.clock, 100 + this.carriers.length);
    this.carriers.push(carrier);
    return carrier;
  }
}

const died = 'media process: died; restarting';

test('a media process is started with the settings, and its address is known', async () => {
  const scene = new MediaSupervisorScene();
  const carrier = await scene.serving();
  assert.deepEqual(carrier.task, {
    legs: { ...mediaLegsDefaults, host: '127.0.0.1', port: 0 },
    workers: Math.max(1, availableParallelism() - 1),
    loadMax: 0.85,
    quality: 80,
    sourceMax: { width: 1920, height: 1080 },
    maxFps: 15,
    webrtc: { ports: null, advertise: [], peersMax: 500 },
    advertise: null,
    corePath: null,
  });
  assert.deepEqual(scene.connection.address, { host: '127.0.0.1', port: listeningPort });
  assert.deepEqual(scene.logged('media process: started'), [
    { media_process: 0, pid: 100, port: listeningPort, start_ms: 0 },
  ]);
});

test('a media process that dies is restarted on its own port, without effect on the others', async () => {
  const scene = new MediaSupervisorScene(2);
  const starting = scene.supervisor.start();
  await scene.awaitTurns();
  const [first = assert.fail(), second = assert.fail()] = scene.carriers;
  first.listen(listeningPort);
  second.listen(listeningPort + 1);
  await starting;
  await scene.pass(1000);
  second.die('SIGSEGV');
  await scene.awaitTurns();
  assert.deepEqual([scene.carriers.length, scene.last.task?.legs.port], [3, listeningPort + 1]);
  assert.deepEqual(
    scene.connections.map(({ address }) => address?.port),
    [listeningPort, undefined],
  );
  assert.equal(scene.logged(died)[0]?.['media_process'], 1);
  scene.supervisor.close();
  assert.ok(first.asked.includes('killed'));
});

test('if one media process cannot listen, all are ended', async () => {
  const scene = new MediaSupervisorScene(2);
  const starting = assert.rejects(scene.supervisor.start(), /media.listen is taken/);
  await scene.awaitTurns();
  const [first = assert.fail(), second = assert.fail()] = scene.carriers;
  first.listen(listeningPort);
  second.fail('media.listen is taken');
  await starting;
  assert.ok(first.asked.includes('killed'));
});

test('a media process that dies is replaced at once, on the same port', async () => {
  const scene = new MediaSupervisorScene();
  const first = await scene.serving();
  await scene.pass(1000);
  first.die('SIGSEGV');
  await scene.awaitTurns();
  assert.equal(scene.connection.address, null);
  assert.equal(scene.carriers.length, 2);
  assert.equal(scene.last.task?.legs.port, listeningPort);
  scene.last.listen(listeningPort);
  await scene.awaitTurns();
  assert.deepEqual(scene.connection.address, { host: '127.0.0.1', port: listeningPort });
  assert.deepEqual(scene.logged(died), [
    { media_process: 0, pid: 100, why: 'SIGSEGV', how: 'SIGSEGV', lived_ms: 1000, restart_ms: 0 },
  ]);
  scene.last.die('SIGSEGV');
  await scene.awaitTurns();
  assert.equal(scene.logged(died)[1]?.['restart_ms'], mediaRestartMsMin);
});

test('a media process with a silent link is killed and replaced', async () => {
  const scene = new MediaSupervisorScene();
  const carrier = await scene.serving();
  carrier.isStuck = true;
  carrier.link.pause();
  await scene.pass(linkSilenceMsMax + 1000);
  assert.ok(carrier.asked.includes('killed'));
  const [death] = scene.logged(died);
  assert.deepEqual([death?.['how'], death?.['why']], ['SIGKILL', 'the media process was silent for 5000 ms']);
  assert.equal(scene.carriers.length, 2);
});

test('a stop drains, and waits for the end', async () => {
  const scene = new MediaSupervisorScene();
  const carrier = await scene.serving();
  await scene.supervisor.stop();
  assert.equal(carrier.asked[0], 'drain');
  await scene.pass(mediaRestartMsMax);
  assert.equal(scene.carriers.length, 1);
  assert.deepEqual(scene.logged(died), []);
  assert.equal(scene.clock.pendingTimers, 0);
});
