import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import {
  linkSilenceMsMax,
  mediaRestartMsMax,
  mediaRestartMsMin,
  mediaSpareDelayMs,
} from '../../../../src/model/limits.ts';
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
  /** Thrown by the next start. */
  noProcess: Error | null = null;

  constructor({ hasSpare = false, processes = 1 } = {}) {
    const { clock, log } = this;
    const { service, keys } = new LegServiceScene();
    const owner = { came: () => undefined, loadTold: () => undefined, gone: () => undefined };
    const progress = new LoopProgress(clock);
    const telemetry = new FakeTelemetry();
    const deps = { clock, log, service, elsewhere: () => null, owner, keys, telemetry, progress };
    this.connections = Array.from(
      { length: processes },
      (_, process) => new MediaConnection({ ...deps, process }),
    );
    const settings = loadSettings({
      env: {},
      overrides: ['media.listen=127.0.0.1:0', `media.spare=${hasSpare}`, `media.processes=${processes}`],
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

  /** One that is there, and listens. */
  async serving(): Promise<FakeCarrier> {
    const starting = this.supervisor.start();
    await this.settle();
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

  async settle(): Promise<void> {
    for (let i = 0; i < 6; i += 1) await turn();
  }

  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 1000) {
      this.clock.advance(Math.min(leftMs, 1000));
      await this.settle();
    }
  }

  logged(message: string): Record<string, unknown>[] {
    return this.log.lines.filter((line) => line.message === message).map(({ fields }) => ({ ...fields }));
  }

  #start(): FakeCarrier {
    const fault = this.noProcess;
    this.noProcess = null;
    if (fault !== null) throw fault;
    const carrier = new FakeCarrier(this.clock, 100 + this.carriers.length);
    this.carriers.push(carrier);
    return carrier;
  }
}

const died = 'the media process died; it is started again';

test('a media process is started with the settings, and its place is known', async () => {
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
  assert.deepEqual(scene.logged('the media process is up'), [
    { media_process: 0, pid: 100, port: listeningPort, start_ms: 0 },
  ]);
});

test('of several one that dies is started again on its own port, and the others hear nothing of it', async () => {
  const scene = new MediaSupervisorScene({ processes: 2 });
  const starting = scene.supervisor.start();
  await scene.settle();
  const [first = assert.fail(), second = assert.fail()] = scene.carriers;
  first.listen(listeningPort);
  second.listen(listeningPort + 1);
  await starting;
  await scene.pass(1000);
  second.die('SIGSEGV');
  await scene.settle();
  assert.deepEqual([scene.carriers.length, scene.last.task?.legs.port], [3, listeningPort + 1]);
  assert.deepEqual(
    scene.connections.map(({ address }) => address?.port),
    [listeningPort, undefined],
  );
  assert.equal(scene.logged(died)[0]?.['media_process'], 1);
  scene.supervisor.close();
  assert.ok(first.asked.includes('killed'));
});

test('of several none goes on where one cannot listen', async () => {
  const scene = new MediaSupervisorScene({ processes: 2 });
  const starting = assert.rejects(scene.supervisor.start(), /media.listen is taken/);
  await scene.settle();
  const [first = assert.fail(), second = assert.fail()] = scene.carriers;
  first.listen(listeningPort);
  second.fail('media.listen is taken');
  await starting;
  assert.ok(first.asked.includes('killed'));
});

test('one that dies is replaced at once, on the port that it had', async () => {
  const scene = new MediaSupervisorScene();
  const first = await scene.serving();
  await scene.pass(1000);
  first.die('SIGSEGV');
  await scene.settle();
  assert.equal(scene.connection.address, null);
  assert.equal(scene.carriers.length, 2);
  assert.equal(scene.last.task?.legs.port, listeningPort);
  scene.last.listen(listeningPort);
  await scene.settle();
  assert.deepEqual(scene.connection.address, { host: '127.0.0.1', port: listeningPort });
  assert.deepEqual(scene.logged(died), [
    { media_process: 0, pid: 100, why: 'SIGSEGV', how: 'SIGSEGV', lived_ms: 1000, restart_ms: 0 },
  ]);
  scene.last.die('SIGSEGV');
  await scene.settle();
  assert.equal(scene.logged(died)[1]?.['restart_ms'], mediaRestartMsMin);
});

test('one whose link falls silent is killed and replaced', async () => {
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

test('a spare is started in a while, takes over from the one that dies, and is replaced', async () => {
  const scene = new MediaSupervisorScene({ hasSpare: true });
  const first = await scene.serving();
  await scene.pass(mediaSpareDelayMs - 1);
  assert.equal(scene.carriers.length, 1);
  await scene.pass(1);
  const spare = scene.last;
  assert.deepEqual(scene.logged('a spare media process waits'), [{ pid: 101 }]);
  assert.equal(spare.task, null);
  first.die('SIGSEGV');
  await scene.settle();
  assert.equal(scene.carriers.length, 2);
  assert.equal(spare.task?.legs.port, listeningPort);
  spare.listen(listeningPort);
  await scene.settle();
  assert.equal(scene.connection.address?.port, listeningPort);
  await scene.pass(mediaSpareDelayMs);
  assert.equal(scene.carriers.length, 3);
});

test('a spare that dies, or cannot be started, is tried again, and the one that serves feels nothing', async () => {
  const scene = new MediaSupervisorScene({ hasSpare: true });
  await scene.serving();
  scene.noProcess = new Error('no process can be started');
  await scene.pass(mediaSpareDelayMs);
  assert.equal(scene.logged('no spare media process can be started').length, 1);
  await scene.pass(mediaSpareDelayMs);
  scene.last.die('SIGKILL');
  await scene.settle();
  assert.deepEqual(scene.logged('the spare media process died'), [{ pid: 101, how: 'SIGKILL' }]);
  await scene.pass(mediaSpareDelayMs);
  assert.equal(scene.carriers.length, 3);
  assert.equal(scene.connection.address?.port, listeningPort);
});

test('a stop ends the spare, and one that was to come does not', async () => {
  const scene = new MediaSupervisorScene({ hasSpare: true });
  await scene.serving();
  await scene.pass(mediaSpareDelayMs);
  await scene.supervisor.stop();
  assert.deepEqual(scene.last.asked, ['killed']);
  const early = new MediaSupervisorScene({ hasSpare: true });
  await early.serving();
  await early.supervisor.stop();
  for (const each of [scene, early]) {
    const { length } = each.carriers;
    await each.pass(2 * mediaSpareDelayMs);
    assert.equal(each.carriers.length, length);
    assert.equal(each.clock.pendingTimers, 0);
  }
});
