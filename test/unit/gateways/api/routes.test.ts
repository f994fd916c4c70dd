/** Handlers of messages and events. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestId } from '../../../../src/model/ids.ts';
import type { ApiServices } from '../../../../src/gateways/api/api-services.ts';
import { apiRoutes } from '../../../../src/gateways/api/routes.ts';
import type { Credential } from '../../../../src/model/registry.ts';
import type { Call, Reply } from '../../../../src/gateways/api/route.ts';
import { EventWaiters } from '../../../../src/core/events/event-waiters.ts';
import { scanQueueShape } from '../../../../src/core/events/read-events.ts';
import { FairQueue } from '../../../../src/lib/fair-queue.ts';
import { WaitingReaders } from '../../../../src/core/events/waiting-readers.ts';
import { encodeEvent } from '../../../../src/protocol/rest/events.ts';
import { ClusterScene } from '../../../support/cluster-scene.ts';
import { encodeCursor } from '../../../support/event-cursors.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, FakeRegistry, type FakeSignalConnection, testDevice } from '../../../support/fakes.ts';
import { ScriptedEventLog, anEvent } from '../../../support/scripted-event-log.ts';
import { demoCredential } from '../../../support/signed-requests.ts';

async function send(
  name: 'message' | 'events',
  services: Partial<ApiServices>,
  call: Partial<Call>,
): Promise<Reply> {
  const route = apiRoutes.find((each) => each.name === name);
  const whole: Call = {
    credential: demoCredential,
    query: '',
    body: new Uint8Array(0),
    signature: '0'.repeat(64),
    signatureExpiresMs: new DrivenClock().wallMs() + 300_000,
    requestId: { id: 'r' as RequestId, origin: 'absent' },
    deviceId: null,
    isLongPoll: false,
    remoteAddress: () => '127.0.0.1',
    onGone: () => undefined,
    ...call,
  };
  return route?.handle(whole, services as ApiServices) ?? assert.fail(`no route is named ${name}`);
}

const good = { device_id: testDevice, name: 'msga_join_voip_room', payload: { room: '1' } };

class MessageScene {
  readonly member = new ClusterScene(['node-1']).member(0);
  readonly connection: FakeSignalConnection;

  constructor() {
    this.connection = this.member.comeOnline().connection;
  }

  send(body: unknown, call: Partial<Call> = {}): Promise<Reply> {
    const services = { messages: this.member.waking };
    return send('message', services, { body: Buffer.from(JSON.stringify(body)), ...call });
  }
}

test('an acknowledged message is answered with device, id and time', async () => {
  const scene = new MessageScene();
  const { code, data } = await scene.send(good);
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(String(data)), {
    device_id: testDevice,
    id: scene.connection.messages[0]?.id,
    acknowledged_at: '2026-11-20T08:30:00.000+00:00',
  });
});

test('a body that breaks a rule is 40003, names the field, and reaches nobody', async () => {
  const scene = new MessageScene();
  const { code, message, data } = await scene.send({ ...good, name: 'No' });
  assert.deepEqual([code, data], [40003, null]);
  assert.match(message, /^name /);
  assert.deepEqual(scene.connection.messages, []);
});

test('only a message that may wake needs the permission to wake, and is told which it lacks', async () => {
  const scene = new MessageScene();
  const credential: Credential = { ...demoCredential, grants: ['message:send'] };
  const asked = (wake: boolean): Promise<Reply> => scene.send({ ...good, wake }, { credential });
  const { code, message } = await asked(true);
  assert.equal(code, 40301);
  assert.match(message, /wakeup:write/);
  assert.deepEqual(scene.connection.messages, []);
  assert.equal((await asked(false)).code, 0);
});

test('a message that may wake is answered with what waking it took: nothing for a device that is online', async () => {
  const scene = new MessageScene();
  const { code, data } = await scene.send({ ...good, wake: true });
  assert.equal(code, 0);
  assert.equal((JSON.parse(String(data)) as { wakeup: object | null }).wakeup, null);
});

test('a message that found its device asleep, and nobody to wake it in time, tells of its wakeup', async () => {
  const scene = new MessageScene();
  const { session } = scene.member.comeOnline();
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

test('a refusal keeps its code and when to come back', async () => {
  const scene = new MessageScene();
  scene.connection.immediately = 'busy';
  const { code, retryAfterS, data } = await scene.send(good);
  assert.deepEqual([code, retryAfterS, data], [42901, 1, null]);
});

class EventsScene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly events = new ScriptedEventLog();
  readonly log = new FakeLog();
  readonly readers = new WaitingReaders(this.clock, { max: 10, perApplicationMax: 1 });
  readonly queue = new FairQueue(scanQueueShape);
  readonly cluster = null;
  readonly waiters = new EventWaiters(this);
  hangUp: () => void = () => assert.fail('nobody has asked');

  ask(query: string): Promise<Reply> {
    return send('events', { events: this }, { query, onGone: (listener) => (this.hangUp = listener) });
  }
}

test('a page is answered as the contract writes it', async () => {
  const scene = new EventsScene();
  scene.events.commit('doorbell', 'gate');
  assert.deepEqual(await scene.ask(''), {
    code: 0,
    message: 'success',
    data: `{"events":[${encodeEvent(anEvent(1))}],"next":"${encodeCursor(2)}","truncated":false}`,
  });
});

test('two readers of the same page get the same text', async () => {
  const scene = new EventsScene();
  scene.events.commit('doorbell', 'doorbell');
  assert.deepEqual(await scene.ask('limit=2'), await scene.ask('limit=2'));
});

test('a query that breaks a rule is 40003, names the parameter, and takes no slot', async () => {
  const scene = new EventsScene();
  const { code, message, data } = await scene.ask('limit=0');
  assert.deepEqual([code, data], [40003, null]);
  assert.match(message, /^limit /);
  assert.equal(scene.readers.size, 0);
});

test('as many readers as an application may have are 42901 for the next, until one hangs up', async () => {
  const scene = new EventsScene();
  const first = scene.ask('wait=30');
  assert.equal((await scene.ask('')).code, 42901);
  scene.hangUp();
  await first;
  assert.equal((await scene.ask('')).code, 0);
});
