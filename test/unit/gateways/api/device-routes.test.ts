import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeviceDirectory } from '../../../../src/core/devices/device-directory.ts';
import type { RequestId, SessionId } from '../../../../src/model/ids.ts';
import { messageRoute } from '../../../../src/gateways/api/device-routes.ts';
import type { Call, Reply, Route } from '../../../../src/gateways/api/route.ts';
import { messagesKnownMax } from '../../../../src/model/limits.ts';
import { AnswerMemory } from '../../../../src/core/messages/answer-memory.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import {
  FakeLog,
  FakeRecords,
  FakeRegistry,
  FakeSignalConnection,
  FakeTelemetry,
  testDevice,
} from '../../../support/fakes.ts';
import { demoCredential } from '../../../support/signed-requests.ts';

const good = { device_id: testDevice, name: 'msga_join_voip_room', payload: { room: '1' } };

class Scene {
  readonly clock = new DrivenClock();
  readonly connection = new FakeSignalConnection();
  readonly route: Route;

  constructor() {
    const directory = new DeviceDirectory({
      sleepRecords: new FakeRecords(),
      signalRecords: new FakeRecords(),
      node: 'node-1',
    });
    directory.claim(testDevice).post({
      to: 'signal',
      event: { kind: 'login', sessionId: 's' as SessionId, atMs: 1000, heartbeatAt: 0 },
      connection: this.connection,
      media: null,
      secretMark: 0,
    });
    this.route = messageRoute({
      clock: this.clock,
      registry: new FakeRegistry(),
      directory,
      memory: new AnswerMemory(this.clock, messagesKnownMax),
      telemetry: new FakeTelemetry(),
      log: new FakeLog(),
      cluster: null,
      isDraining: () => false,
    });
  }

  async send(body: unknown): Promise<Reply> {
    const call: Call = {
      credential: demoCredential,
      query: '',
      body: Buffer.from(JSON.stringify(body)),
      bodySha256: '',
      signature: '0'.repeat(64),
      signatureExpiresMs: this.clock.wallMs() + 300_000,
      requestId: { id: 'r' as RequestId, origin: 'absent' },
      onGone: () => undefined,
    };
    return this.route.handle(call);
  }
}

test('an acknowledged message is answered with device, id and time', async () => {
  const scene = new Scene();
  const { code, data } = await scene.send(good);
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(data ?? ''), {
    device_id: testDevice,
    id: scene.connection.messages[0]?.id,
    acknowledged_at: '2026-11-20T08:30:00.000+00:00',
  });
});

test('a body that breaks a rule is 40003, names the field, and reaches nobody', async () => {
  const scene = new Scene();
  const { code, message, data } = await scene.send({ ...good, name: 'No' });
  assert.deepEqual([code, data], [40003, null]);
  assert.match(message, /^name /);
  assert.deepEqual(scene.connection.messages, []);
});

test('a refusal keeps its code and when to come back', async () => {
  const scene = new Scene();
  scene.connection.immediately = 'busy';
  const { code, retryAfterS, data } = await scene.send(good);
  assert.deepEqual([code, retryAfterS, data], [42901, 1, null]);
});

test('the endpoint is what the contract says of it', () => {
  const { method, path, permission, envelope, successStatus, statusFromCode, takesRequestId } = new Scene()
    .route;
  assert.deepEqual(
    { method, path, permission, envelope, successStatus, statusFromCode, takesRequestId },
    {
      method: 'POST',
      path: '/v1/device/message',
      permission: 'message:send',
      envelope: 'with-request-id',
      successStatus: 200,
      statusFromCode: true,
      takesRequestId: false,
    },
  );
});
