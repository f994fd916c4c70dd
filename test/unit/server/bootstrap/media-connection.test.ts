import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { mediaStartMsMax } from '../../../../src/model/limits.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { MediaConnection } from '../../../../src/server/bootstrap/media-connection.ts';
import { LegServiceScene } from '../../../support/leg-service-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeCarrier } from '../../../support/fake-carriers.ts';
import { FakeLog, FakeTelemetry } from '../../../support/fakes.ts';
import { mediaCounts } from '../../../support/linked-leg-service.ts';

class GatewaysScene {
  readonly clock = new DrivenClock();
  readonly carrier = new FakeCarrier(this.clock, 100);
  readonly front: MediaConnection;
  /** How the link ended. */
  readonly ends: (string | null)[] = [];

  constructor() {
    const { service, keys } = new LegServiceScene();
    const log = new FakeLog();
    this.front = new MediaConnection({
      clock: this.clock,
      log,
      service,
      keys,
      telemetry: new FakeTelemetry(),
    });
  }

  attach(carrier = this.carrier): ReturnType<MediaConnection['attach']> {
    return this.front.attach(carrier.link, null, (fault) => this.ends.push(fault));
  }

  async settle(): Promise<void> {
    for (let i = 0; i < 6; i += 1) await turn();
  }
}

test('without a media process there is nothing to be asked, and nothing fails', async () => {
  const { front } = new GatewaysScene();
  assert.deepEqual([front.address, front.isTaken, front.counts()], [null, false, null]);
  assert.equal(await front.view('session-1' as SessionId), null);
  front.keysChanged();
  front.reloadTls();
  await front.drain();
  front.close();
});

test('one that has come is asked and told, until its link ends', async () => {
  const scene = new GatewaysScene();
  const { front, carrier, clock } = scene;
  const attaching = scene.attach();
  assert.deepEqual([front.address, front.isTaken], [null, true]);
  await scene.settle();
  carrier.listen(8083);
  assert.deepEqual(await attaching, { host: '127.0.0.1', port: 8083 });
  assert.deepEqual(front.address, { host: '127.0.0.1', port: 8083 });
  clock.advance(1000);
  await scene.settle();
  assert.deepEqual(front.counts(), mediaCounts);
  front.reloadTls();
  await front.drain();
  assert.deepEqual(carrier.asked, ['reload TLS', 'drain']);
  assert.deepEqual([front.address, front.isTaken, front.counts()], [null, false, null]);
  assert.deepEqual(scene.ends, [null]);
  assert.equal(clock.pendingTimers, 0);
});

test('one that hangs up in the moment in which it listens is not taken for one that does', async () => {
  const scene = new GatewaysScene();
  const attaching = scene.attach();
  await scene.settle();
  scene.carrier.listen(8083);
  void scene.carrier.end.end();
  await attaching.catch(() => undefined);
  await scene.settle();
  assert.deepEqual([scene.front.address, scene.front.isTaken], [null, false]);
});

test('one that does not listen in time has its link ended', async () => {
  const scene = new GatewaysScene();
  const attaching = assert.rejects(scene.attach(), /it did not listen within 20000 ms/);
  for (let ms = 0; ms < mediaStartMsMax; ms += 1000) {
    await scene.settle();
    scene.clock.advance(1000);
  }
  await attaching;
  await scene.settle();
  assert.deepEqual([scene.front.isTaken, scene.ends], [false, [null]]);
});

test('the late end of one takes nothing from the next', async () => {
  const scene = new GatewaysScene();
  const first = scene.attach();
  await scene.settle();
  scene.carrier.listen(8083);
  await first;
  const next = new FakeCarrier(scene.clock, 101);
  const second = scene.attach(next);
  assert.deepEqual(scene.front.address, null, 'it does not listen yet');
  await scene.settle();
  next.listen(8084);
  await second;
  scene.carrier.die('SIGSEGV');
  await scene.settle();
  assert.deepEqual(scene.front.address, { host: '127.0.0.1', port: 8084 });
});
