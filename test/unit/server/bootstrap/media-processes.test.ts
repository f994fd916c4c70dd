import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { MediaPlacement } from '../../../../src/core/calls/media-placement.ts';
import { MediaProcesses } from '../../../../src/server/bootstrap/media-processes.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';
import { LoopProgress } from '../../../../src/lib/loop-progress.ts';
import { orderForRoom } from '../../../support/call-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeCarrier } from '../../../support/fake-carriers.ts';
import { FakeCallLeg, FakeLog, FakeTelemetry } from '../../../support/fakes.ts';
import { bridgeKey, LegServiceScene } from '../../../support/leg-service-scene.ts';

class ProcessesScene {
  readonly clock = new DrivenClock();
  readonly scene = new LegServiceScene();
  readonly processes: MediaProcesses;

  constructor(count = 2) {
    const { clock, scene } = this;
    const { directory, service, pool, keys } = scene;
    const settings = loadSettings({ env: {}, overrides: [`media.processes=${count}`] });
    const placement = new MediaPlacement({
      directory,
      capacity: () => this.processes.capacity(),
      hasBridgeAt: () => false,
    });
    directory.follow(placement);
    const progress = new LoopProgress(clock);
    const deps = { settings, clock, service, pool, keys, placement, progress };
    this.processes = new MediaProcesses({ ...deps, log: new FakeLog(), telemetry: new FakeTelemetry() });
  }

  /** `pid`: also its identity. */
  async connect(process: number, pid: number): Promise<FakeCarrier> {
    const carrier = new FakeCarrier(this.clock, pid);
    const attached = this.processes.connections[process]?.attach(carrier.link, null, () => undefined);
    await this.awaitTurns();
    carrier.listen(9000 + process);
    await attached;
    return carrier;
  }

  async awaitTurns(): Promise<void> {
    for (let i = 0; i < 6; i += 1) await turn();
  }

  isUp(process: number): boolean {
    return this.processes.connections[process]?.isTaken === true;
  }
}

test('devices receive the media process of their call: first the one with the most room, then that of its legs', async () => {
  const scene = new ProcessesScene();
  const { processes } = scene;
  assert.equal(processes.urlOf(null), 'ws://127.0.0.1:8083', 'before any has come: where it is to listen');
  await scene.connect(0, 100);
  await scene.connect(1, 101);
  const [one, two] = [await scene.scene.newCall(), await scene.scene.newCall(orderForRoom('room-2'))];
  const told = new Set([processes.urlOf(one.call), processes.urlOf(two.call)]);
  assert.deepEqual(told, new Set(['ws://127.0.0.1:9000', 'ws://127.0.0.1:9001']));
  assert.equal(scene.scene.directory.connectBridge(one.call, new FakeCallLeg(1)), true);
  assert.equal(processes.urlOf(one.call), 'ws://127.0.0.1:9001');
  assert.equal(processes.originOf(one.call), 'http://127.0.0.1:9001');
});

test('a leg at the wrong media process is redirected to that of its call', async () => {
  const scene = new ProcessesScene();
  const carriers = [await scene.connect(0, 100), await scene.connect(1, 101)] as const;
  const { call, token } = await scene.scene.newCall();
  assert.equal(scene.scene.directory.connectBridge(call, new FakeCallLeg(1)), true);
  const [here, there] = carriers.map(({ end }) => end.service);
  assert(here !== undefined && there !== undefined);
  for (const admission of [
    await here.admitDevice(token),
    await here.admitBridge(bridgeKey, call),
    await here.admitViewer(scene.scene.ticket(call)),
  ])
    assert.deepEqual(admission, { ok: false, error: { mediaUrl: 'ws://127.0.0.1:9001' } });
  for (const admission of [
    await there.admitDevice(token),
    await there.admitBridge(bridgeKey, call),
    await there.admitViewer(scene.scene.ticket(call)),
    await here.admitBridge(bridgeKey, null),
  ])
    assert.ok(admission.ok);
});

test('a media process that reconnects under another number loses its old link', async () => {
  const scene = new ProcessesScene();
  await scene.connect(0, 100);
  await scene.connect(1, 100);
  await scene.awaitTurns();
  assert.deepEqual([scene.isUp(0), scene.isUp(1)], [false, true]);
});

test('a different media process does not replace a link', async () => {
  const scene = new ProcessesScene();
  await scene.connect(0, 100);
  await scene.connect(1, 101);
  await scene.awaitTurns();
  assert.deepEqual([scene.isUp(0), scene.isUp(1)], [true, true]);
});
