import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeviceDirectory } from '../../../src/actor/device-directory.ts';
import type { ProductId, RequestId, SessionId } from '../../../src/domain/ids.ts';
import type { WakeMode } from '../../../src/domain/sleep.ts';
import type { WakeupRequest } from '../../../src/domain/wakeup.ts';
import { submitWakeup, type WakeupHouse } from '../../../src/operations/submit-wakeup.ts';
import { WakeupLimits } from '../../../src/operations/wakeup-limits.ts';
import { WakeupMemory } from '../../../src/operations/wakeup-memory.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import {
  FakeAcceptedWakeups,
  FakeConnection,
  FakeLog,
  FakeRecords,
  FakeRegistry,
  FakeTelemetry,
  otherApp,
  testApp,
  testDevice,
} from '../../support/fakes.ts';

class Scene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly directory = new DeviceDirectory(new FakeRecords());
  readonly accepted = new FakeAcceptedWakeups();
  readonly telemetry = new FakeTelemetry();
  readonly connection = new FakeConnection();
  draining = false;
  readonly house: WakeupHouse;
  #signatures = 0;

  constructor(limits: { inFlightMax?: number; signaturesMax?: number; applicationBurst?: number } = {}) {
    this.house = {
      clock: this.clock,
      registry: this.registry,
      directory: this.directory,
      memory: new WakeupMemory(this.accepted, this.clock, limits.signaturesMax ?? 1000),
      limits: new WakeupLimits(this.clock, {
        device: { perSecond: 1, burst: 3 },
        application: { perSecond: 200, burst: limits.applicationBurst ?? 400 },
        inFlightMax: limits.inFlightMax ?? 2000,
      }),
      telemetry: this.telemetry,
      log: new FakeLog(),
      isDraining: () => this.draining,
    };
  }

  sleep(wakeMode: WakeMode = 'custom'): this {
    this.directory.claim(testDevice).post({
      event: { kind: 'login', sessionId: 's' as SessionId, wakeMode, at: 1, heartbeatAt: 0 },
      connection: this.connection,
    });
    return this;
  }

  /** Both applications may speak of the device. */
  shareProduct(): void {
    this.registry.products.set('doorbell', {
      productId: 'doorbell' as ProductId,
      appIds: [testApp, otherApp],
    });
  }

  request(overrides: Partial<WakeupRequest> = {}): WakeupRequest {
    this.#signatures += 1;
    return {
      appId: testApp,
      deviceId: testDevice,
      customData: null,
      callerRequestId: null,
      signature: this.#signatures.toString(16).padStart(64, '0'),
      signatureExpiresMs: this.clock.wallMs() + 300_000,
      bodySha256: 'body-1',
      ...overrides,
    };
  }

  /** The code of the answer; 0: accepted. */
  async code(overrides: Partial<WakeupRequest> = {}): Promise<number> {
    const answer = await submitWakeup(this.house, this.request(overrides));
    return answer.ok ? 0 : answer.error.code;
  }
}

const mine = { callerRequestId: 'mine-1' as RequestId };

test('a sleeping device is written to once and the answer is 202 with the time of the write', async () => {
  const scene = new Scene().sleep();
  const answer = await submitWakeup(scene.house, scene.request({ customData: Buffer.from([1, 2]) }));
  assert.deepEqual(answer, { ok: true, value: { deviceId: testDevice, acceptedAtMs: scene.clock.wallMs() } });
  assert.deepEqual(scene.connection.wakes, [Buffer.from([1, 2])]);
  assert.equal(scene.telemetry.count('wakeup accepted'), 1);
});

const access = [
  { name: 'a device that is not registered', change: (s: Scene) => s.registry.devices.clear(), code: 40403 },
  { name: 'a disabled device', change: (s: Scene) => s.registry.addDevice({ disabled: true }), code: 40403 },
  { name: "another application's device", change: () => undefined, code: 40302, appId: otherApp },
  { name: 'a device whose product is gone', change: (s: Scene) => s.registry.products.clear(), code: 40302 },
  {
    name: 'a device that expires now',
    change: (s: Scene) => s.registry.addDevice({ expiresAt: 1795163400 }),
    code: 40304,
  },
  {
    name: 'a registry that cannot be read',
    change: (s: Scene) => (s.registry.failure = new Error('gone')),
    code: 50301,
  },
  { name: 'a server that is being stopped', change: (s: Scene) => (s.draining = true), code: 50301 },
];
for (const { name, change, code, appId } of access) {
  test(`${name} is answered ${code} and nothing is written`, async () => {
    const scene = new Scene().sleep();
    change(scene);
    assert.equal(await scene.code({ appId: appId ?? testApp }), code);
    assert.deepEqual(scene.connection.wakes, []);
  });
}

test('a device that expires in a second is still woken', async () => {
  const scene = new Scene().sleep();
  scene.registry.addDevice({ expiresAt: 1795163401 });
  assert.equal(await scene.code(), 0);
});

test('a device without a session is 40412, a fixed module with custom data 40902, a keepalive-only one 40902', async () => {
  assert.equal(await new Scene().code(), 40412);
  assert.equal(await new Scene().sleep('fixed').code({ customData: Buffer.from([0, 0]) }), 40902);
  assert.equal(await new Scene().sleep('none').code(), 40902);
});

for (const [result, code] of [
  ['refused', 50204],
  ['unknown', 50402],
  ['busy', 42901],
] as const) {
  test(`a write that is ${result} answers ${code}, and its repeat is tried again`, async () => {
    const scene = new Scene().sleep();
    scene.connection.immediately = result;
    const request = scene.request(mine);
    const first = await submitWakeup(scene.house, request);
    assert.equal(first.ok ? 0 : first.error.code, code);
    scene.connection.immediately = 'written';
    assert.equal((await submitWakeup(scene.house, request)).ok, true);
    assert.equal(scene.connection.wakes.length, 2);
  });
}

test('a device is woken three times at once, then once a second; what was refused uses nothing up', async () => {
  const scene = new Scene().sleep();
  assert.deepEqual([await scene.code(), await scene.code(), await scene.code()], [0, 0, 0]);
  for (let i = 0; i < 10; i++) assert.equal(await scene.code(), 42901);
  const refused = await submitWakeup(scene.house, scene.request());
  assert.equal(refused.ok ? undefined : refused.error.retryAfterS, 1);
  scene.clock.advance(1000);
  assert.equal(await scene.code(), 0);
  assert.equal(await scene.code(), 42901);
});

test("one application's limit does not touch another's", async () => {
  const scene = new Scene({ applicationBurst: 2 }).sleep();
  scene.shareProduct();
  assert.deepEqual([await scene.code(), await scene.code(), await scene.code()], [0, 0, 42901]);
  assert.equal(await scene.code({ appId: otherApp }), 0);
});

test('with as many writes under way as the node takes, the next is 42901 until one is answered', async () => {
  const scene = new Scene({ inFlightMax: 1 }).sleep();
  scene.connection.immediately = null;
  const first = scene.code();
  assert.equal(await scene.code(), 42901);
  scene.connection.settle('written');
  assert.equal(await first, 0);
  scene.connection.immediately = 'written';
  assert.equal(await scene.code(), 0);
});

test('a repeat by X-Request-ID while the first is under way joins it', async () => {
  const scene = new Scene().sleep();
  scene.connection.immediately = null;
  const first = submitWakeup(scene.house, scene.request(mine));
  const second = submitWakeup(scene.house, scene.request(mine));
  scene.connection.settle('written');
  assert.deepEqual(await first, await second);
  assert.equal(scene.connection.wakes.length, 1);
});

test('a repeat by X-Request-ID after a 202 answers the same data, writes nothing and uses nothing up', async () => {
  const scene = new Scene().sleep();
  const first = await submitWakeup(scene.house, scene.request(mine));
  scene.clock.advance(23 * 3600 * 1000);
  for (let i = 0; i < 5; i++) assert.deepEqual(await submitWakeup(scene.house, scene.request(mine)), first);
  assert.equal(scene.connection.wakes.length, 1);
});

test('a repeat by signature answers the same data under whatever request id it comes', async () => {
  const scene = new Scene().sleep();
  const request = scene.request();
  const first = await submitWakeup(scene.house, request);
  assert.deepEqual(await submitWakeup(scene.house, { ...request, ...mine }), first);
  assert.equal(scene.connection.wakes.length, 1);
});

test('the same X-Request-ID of another application is another wakeup', async () => {
  const scene = new Scene().sleep();
  scene.shareProduct();
  assert.equal(await scene.code(mine), 0);
  assert.equal(await scene.code({ ...mine, appId: otherApp }), 0);
  assert.equal(scene.connection.wakes.length, 2);
});

test('the same X-Request-ID with another body is 40003: under way, accepted and refused alike', async () => {
  const changed = { ...mine, bodySha256: 'body-2' };
  const underWay = new Scene().sleep();
  underWay.connection.immediately = null;
  const first = underWay.code(mine);
  assert.equal(await underWay.code(changed), 40003);
  underWay.connection.settle('written');
  assert.equal(await first, 0);
  assert.equal(await underWay.code(changed), 40003);
  const refused = new Scene();
  assert.equal(await refused.code(mine), 40412);
  assert.equal(await refused.code(changed), 40003);
});

test('a full signature memory answers 42901 and forgets nothing; it empties as dates leave the window', async () => {
  const scene = new Scene({ signaturesMax: 1 }).sleep();
  const known = scene.request();
  assert.equal((await submitWakeup(scene.house, known)).ok, true);
  assert.equal(await scene.code(), 42901);
  assert.equal((await submitWakeup(scene.house, known)).ok, true);
  assert.equal(scene.connection.wakes.length, 1);
  scene.clock.advance(302_000);
  assert.equal(await scene.code(), 0);
});

test('a full store of accepted wakeups answers 42901', async () => {
  const scene = new Scene().sleep();
  scene.accepted.full = true;
  assert.equal(await scene.code(mine), 42901);
});

test("a fault behind the write is the caller's alone: it is told, and the next try is done", async () => {
  const scene = new Scene().sleep();
  const { telemetry } = scene;
  telemetry.failOnWakeup = new Error('planted');
  await assert.rejects(submitWakeup(scene.house, scene.request(mine)), /planted/);
  telemetry.failOnWakeup = null;
  assert.equal(await scene.code(mine), 0);
  assert.equal(scene.connection.wakes.length, 2);
});
