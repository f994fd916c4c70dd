import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeviceDirectory } from '../../../../src/core/devices/device-directory.ts';
import type { ProductId, SessionId } from '../../../../src/model/ids.ts';
import type { MessageRequest } from '../../../../src/model/message.ts';
import { AnswerMemory } from '../../../../src/core/messages/answer-memory.ts';
import type { MessageDeps } from '../../../../src/core/messages/deliver-message.ts';
import { noPeers } from '../../../../src/core/ports/peers.ts';
import { sendMessage } from '../../../../src/core/messages/send-message.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import {
  FakeLog,
  FakeRecords,
  FakeRegistry,
  FakeSignalConnection,
  FakeTelemetry,
  otherApp,
  testApp,
  testDevice,
} from '../../../support/fakes.ts';

const payload = { room: 'a secret room', token: 'never to be logged' };

class Scene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly directory = new DeviceDirectory({
    sleepRecords: new FakeRecords(),
    signalRecords: new FakeRecords(),
    node: 'node-1',
  });
  readonly telemetry = new FakeTelemetry();
  readonly log = new FakeLog();
  readonly connection = new FakeSignalConnection();
  draining = false;
  readonly deps: MessageDeps;
  #signatures = 0;

  constructor(knownMax = 1000) {
    this.deps = {
      clock: this.clock,
      registry: this.registry,
      directory: this.directory,
      memory: new AnswerMemory(this.clock, knownMax),
      telemetry: this.telemetry,
      log: this.log,
      peers: noPeers,
      cluster: null,
      isDraining: () => this.draining,
    };
  }

  online(connection = this.connection): this {
    this.directory.claim(testDevice).post({
      to: 'signal',
      event: { kind: 'login', sessionId: 's' as SessionId, atMs: 1000, heartbeatAt: 0 },
      connection,
      media: null,
      secretMark: 0,
    });
    return this;
  }

  /** A request with a new signature, unless one is given. */
  request(overrides: Partial<MessageRequest> = {}): MessageRequest {
    this.#signatures += 1;
    return {
      appId: testApp,
      deviceId: testDevice,
      name: 'msga_join_voip_room',
      payload,
      signature: this.#signatures.toString(16).padStart(64, '0'),
      signatureExpiresMs: this.clock.wallMs() + 300_000,
      ...overrides,
    };
  }

  /** The code of the answer; 0: acknowledged. */
  async code(request: MessageRequest = this.request()): Promise<number> {
    const answer = await sendMessage(this.deps, request);
    return answer.ok ? 0 : answer.error.code;
  }
}

test('a message is sent unchanged, and its acknowledgement is answered with the id and the time', async () => {
  const scene = new Scene().online();
  scene.connection.immediately = null;
  const answer = sendMessage(scene.deps, scene.request());
  scene.clock.advance(1234);
  scene.connection.completeDeliveries('acknowledged');
  const [sent] = scene.connection.messages;
  assert.deepEqual({ ...sent, id: null }, { id: null, name: 'msga_join_voip_room', payload });
  assert.deepEqual(await answer, {
    ok: true,
    value: { deviceId: testDevice, id: sent?.id, acknowledgedAtMs: scene.clock.wallMs() },
  });
  assert.equal(scene.telemetry.count('message acknowledged'), 1);
});

const refused = [
  { name: 'a device that is not registered', change: (s: Scene) => s.registry.devices.clear(), code: 40403 },
  { name: 'a disabled device', change: (s: Scene) => s.registry.addDevice({ disabled: true }), code: 40403 },
  { name: "another application's device", change: () => undefined, code: 40302, appId: otherApp },
  {
    name: 'a device that expires now',
    change: (s: Scene) => s.registry.addDevice({ expiresAt: 1795163400 }),
    code: 40304,
  },
  {
    name: 'a registry that cannot be read',
    change: (s: Scene) => (s.registry.failure = new Error('gone')),
    code: 50301,
    retryAfterS: 1,
  },
  {
    name: 'a server that is being stopped',
    change: (s: Scene) => (s.draining = true),
    code: 50301,
    retryAfterS: 1,
  },
];
for (const { name, change, code, appId = testApp, retryAfterS } of refused) {
  test(`a message in the case of ${name} is ${code}, sends nothing, and may be sent again`, async () => {
    const scene = new Scene().online();
    const request = scene.request({ appId });
    change(scene);
    const answer = await sendMessage(scene.deps, request);
    assert.ok(!answer.ok);
    assert.deepEqual([answer.error.code, answer.error.retryAfterS], [code, retryAfterS]);
    assert.deepEqual(scene.connection.messages, []);
    assert.equal(scene.telemetry.count('message refused'), 1);
    scene.registry.failure = null;
    scene.draining = false;
    scene.registry.addDevice({});
    scene.registry.products.set('doorbell', {
      productId: 'doorbell' as ProductId,
      appIds: [testApp, otherApp],
    });
    assert.equal(await scene.code(request), 0);
  });
}

test('a device that is not online is 40412, asleep or not', async () => {
  assert.equal(await new Scene().code(), 40412);
});

test('a device that went offline is 40412', async () => {
  const scene = new Scene().online();
  const actor = scene.directory.find(testDevice);
  const session = actor?.session('signal');
  assert.ok(session);
  const event = { kind: 'ended', session, reason: 'bye', atMs: 2000, heartbeatAt: 0 } as const;
  actor?.post({ to: 'signal', event });
  assert.equal(await scene.code(), 40412);
});

test('a device that disconnected or did not answer before it acknowledged is 50402', async () => {
  const scene = new Scene().online();
  scene.connection.immediately = null;
  const answer = scene.code();
  scene.connection.completeDeliveries('unknown');
  assert.equal(await answer, 50402);
  assert.equal(scene.telemetry.count('message unknown'), 1);
});

test('the message beyond the maximum is 42901 with a retry time, and may be retried', async () => {
  const scene = new Scene().online();
  scene.connection.immediately = 'busy';
  const request = scene.request();
  const answer = await sendMessage(scene.deps, request);
  assert.ok(!answer.ok);
  assert.deepEqual([answer.error.code, answer.error.retryAfterS], [42901, 1]);
  assert.equal(scene.telemetry.count('message refused'), 1);
  scene.connection.immediately = 'acknowledged';
  assert.equal(await scene.code(request), 0);
});

test('a repeat of a message in progress joins it', async () => {
  const scene = new Scene().online();
  scene.connection.immediately = null;
  const request = scene.request();
  const answers = [1, 2, 3].map(() => sendMessage(scene.deps, request));
  scene.connection.completeDeliveries('acknowledged');
  const [first, second, third] = await Promise.all(answers);
  assert.ok(first?.ok);
  assert.deepEqual([second, third], [first, first]);
  assert.equal(scene.connection.messages.length, 1);
  assert.equal(scene.telemetry.count('message repeated'), 2);
});

for (const [name, result, code] of [
  ['an acknowledged message', 'acknowledged', 0],
  ['a message of unknown fate', 'unknown', 50402],
] as const) {
  test(`a repeat of ${name} is answered alike and sends nothing, until its date expires`, async () => {
    const scene = new Scene().online();
    scene.connection.immediately = result;
    const request = scene.request();
    const first = await sendMessage(scene.deps, request);
    assert.equal(first.ok ? 0 : first.error.code, code);
    scene.connection.immediately = 'acknowledged';
    scene.clock.advance(299_000);
    assert.deepEqual(await sendMessage(scene.deps, request), first);
    assert.equal(scene.connection.messages.length, 1);
    scene.clock.advance(3_000);
    assert.equal(await scene.code(request), 42901, 'it is forgotten, and nothing so old is done');
    assert.equal(await scene.code(), 0);
    assert.equal(scene.connection.messages.length, 2);
  });
}

test('a repeat of a message to a device that was offline is 40412, though it is online by now', async () => {
  const scene = new Scene();
  const request = scene.request();
  assert.equal(await scene.code(request), 40412);
  scene.online();
  assert.equal(await scene.code(request), 40412);
  assert.deepEqual(scene.connection.messages, []);
  assert.equal(await scene.code(), 0);
});

test('a repeat is refused like any other when the device is taken from the application', async () => {
  const scene = new Scene().online();
  const request = scene.request();
  assert.equal(await scene.code(request), 0);
  scene.registry.products.set('doorbell', { productId: 'doorbell' as ProductId, appIds: [otherApp] });
  assert.equal(await scene.code(request), 40302);
});

test('two messages with the same words and other signatures are two messages', async () => {
  const scene = new Scene().online();
  assert.deepEqual([await scene.code(), await scene.code()], [0, 0]);
  const [first, second] = scene.connection.messages;
  assert.notEqual(first?.id, second?.id);
});

test('with the memory full a new message is 42901 and a known one is answered; room returns with time', async () => {
  const scene = new Scene(2).online();
  const request = scene.request();
  assert.deepEqual([await scene.code(request), await scene.code(), await scene.code()], [0, 0, 42901]);
  assert.equal(await scene.code(request), 0);
  assert.equal(scene.connection.messages.length, 2);
  scene.clock.advance(302_000);
  assert.equal(await scene.code(), 0);
});

test('a drain awaits the acknowledgement of a message in progress, and answers its repeat', async () => {
  const scene = new Scene().online();
  scene.connection.immediately = null;
  const request = scene.request();
  const first = scene.code(request);
  scene.draining = true;
  const repeat = scene.code(request);
  scene.connection.completeDeliveries('acknowledged');
  assert.deepEqual([await first, await repeat], [0, 0]);
});

test('a connection that violates its contract is reported to the caller, and not remembered', async () => {
  const scene = new Scene().online();
  const request = scene.request();
  const deliver = scene.connection.deliver.bind(scene.connection);
  scene.connection.deliver = () => Promise.reject(new Error('planted'));
  await assert.rejects(sendMessage(scene.deps, request), /planted/);
  scene.connection.deliver = deliver;
  assert.equal(await scene.code(request), 0);
});

test('no log line contains a payload', async () => {
  const scene = new Scene().online();
  for (const result of ['acknowledged', 'unknown', 'busy'] as const) {
    scene.connection.immediately = result;
    await scene.code();
  }
  scene.registry.failure = new Error('gone');
  await scene.code();
  const text = JSON.stringify(scene.log.lines);
  assert.ok(scene.log.lines.length > 0);
  for (const secret of Object.values(payload)) assert.equal(text.includes(secret), false);
});
