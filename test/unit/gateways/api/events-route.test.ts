import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsRoute } from '../../../../src/gateways/api/events-route.ts';
import type { RequestId } from '../../../../src/model/ids.ts';
import type { Call, Reply, Route } from '../../../../src/gateways/api/route.ts';
import { EventWaiters } from '../../../../src/core/events/event-waiters.ts';
import { FairEventQueue } from '../../../../src/core/events/fair-event-queue.ts';
import { WaitingReaders } from '../../../../src/core/events/waiting-readers.ts';
import { encodeCursor, encodeEvent } from '../../../../src/protocol/rest/events.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog, FakeRegistry } from '../../../support/fakes.ts';
import { ScriptedEventLog, anEvent } from '../../../support/scripted-event-log.ts';
import { demoCredential } from '../../../support/signed-requests.ts';

class Scene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly events = new ScriptedEventLog();
  readonly log = new FakeLog();
  readonly readers = new WaitingReaders(this.clock, { max: 10, perApplicationMax: 1 });
  readonly queue = new FairEventQueue();
  readonly cluster = null;
  readonly waiters = new EventWaiters(this);
  readonly route: Route = eventsRoute(this);
  hangUp: () => void = () => assert.fail('nobody has asked');

  async ask(query: string): Promise<Reply> {
    const call: Call = {
      credential: demoCredential,
      query,
      body: new Uint8Array(0),
      bodySha256: '',
      signature: '',
      signatureExpiresMs: 0,
      requestId: { id: 'r' as RequestId, origin: 'absent' },
      onGone: (listener) => {
        this.hangUp = listener;
      },
    };
    return this.route.handle(call);
  }
}

test('a page is answered as the contract writes it', async () => {
  const scene = new Scene();
  scene.events.commit('doorbell', 'gate');
  assert.deepEqual(await scene.ask(''), {
    code: 0,
    message: 'success',
    data: `{"events":[${encodeEvent(anEvent(1))}],"next":"${encodeCursor(2)}","truncated":false}`,
  });
});

test('two readers of the same page get the same text', async () => {
  const scene = new Scene();
  scene.events.commit('doorbell', 'doorbell');
  assert.deepEqual(await scene.ask('limit=2'), await scene.ask('limit=2'));
});

test('a query that breaks a rule is 40003, names the parameter, and takes no slot', async () => {
  const scene = new Scene();
  const { code, message, data } = await scene.ask('limit=0');
  assert.deepEqual([code, data], [40003, null]);
  assert.match(message, /^limit /);
  assert.equal(scene.readers.size, 0);
});

test('as many readers as an application may have are 42901 for the next, until one hangs up', async () => {
  const scene = new Scene();
  const first = scene.ask('wait=30');
  assert.equal((await scene.ask('')).code, 42901);
  scene.hangUp();
  await first;
  assert.equal((await scene.ask('')).code, 0);
});

test('the endpoint is what the contract says of it', () => {
  const { method, path, permission, envelope, successStatus, statusFromCode, takesRequestId } = new Scene()
    .route;
  assert.deepEqual(
    { method, path, permission, envelope, successStatus, statusFromCode, takesRequestId },
    {
      method: 'GET',
      path: '/v1/events',
      permission: 'events:read',
      envelope: 'plain',
      successStatus: 200,
      statusFromCode: false,
      takesRequestId: false,
    },
  );
});
