/** The handler of messages: the permission to wake, and the wakeup in a refusal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestId } from '../../../../src/model/ids.ts';
import type { ApiServices } from '../../../../src/gateways/api/api-services.ts';
import { apiRoutes } from '../../../../src/gateways/api/routes.ts';
import type { Credential } from '../../../../src/model/registry.ts';
import type { Call, Reply } from '../../../../src/gateways/api/route.ts';
import { ClusterScene } from '../../../support/cluster-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { type FakeSignalConnection, testDevice } from '../../../support/fakes.ts';
import { demoCredential } from '../../../support/signed-requests.ts';

const good = { device_id: testDevice, name: 'msga_join_voip_room', payload: { room: '1' } };

const rules = { mixedFormats: 'allow', secretRules: { allowShortSecrets: false } } as const;

class MessageScene {
  readonly member = new ClusterScene(['node-1']).member(0);
  readonly connection: FakeSignalConnection;

  constructor() {
    this.connection = this.member.connectController().connection;
  }

  async send(body: unknown, credential = demoCredential): Promise<Reply> {
    const route = apiRoutes.find(({ name }) => name === 'message');
    const call: Call = {
      credential,
      signature: '0'.repeat(64),
      signatureExpiresMs: new DrivenClock().wallMs() + 300_000,
      requestId: { id: 'r' as RequestId, origin: 'absent' },
      deviceId: null,
      isLongPoll: false,
      remoteAddress: () => '127.0.0.1',
      onGone: () => undefined,
    };
    const params = route?.parse({ ...call, query: '', body: Buffer.from(JSON.stringify(body)) }, rules);
    assert(route !== undefined && params?.ok === true);
    return route.handle(params.value, call, { messages: this.member.waking } as ApiServices);
  }
}

test('only a message that may wake needs the permission to wake, and the refusal names it', async () => {
  const scene = new MessageScene();
  const credential: Credential = { ...demoCredential, grants: ['message:send'] };
  const asked = (wake: boolean): Promise<Reply> => scene.send({ ...good, wake }, credential);
  const { code, message } = await asked(true);
  assert.equal(code, 40301);
  assert.match(message, /wakeup:write/);
  assert.deepEqual(scene.connection.messages, []);
  assert.equal((await asked(false)).code, 0);
});

test('a message whose device did not wake in time returns its wakeup', async () => {
  const scene = new MessageScene();
  const { session } = scene.member.connectController();
  scene.member.end('signal', session);
  scene.member.sleep();
  const { code, data } = await scene.send({ ...good, wake: true, wait: 0 });
  assert.equal(code, 50402);
  const { wakeup } = JSON.parse(String(data)) as { wakeup: Record<string, unknown> };
  assert.match(String(wakeup['request_id']), /^[0-9a-f-]{36}$/);
  assert.deepEqual(
    { ...wakeup, request_id: null },
    {
      request_id: null,
      status: 'accepted',
      accepted_at: '2026-11-20T08:30:00.000+00:00',
      woke_after_ms: null,
    },
  );
});
