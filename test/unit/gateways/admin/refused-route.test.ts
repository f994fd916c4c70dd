import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedRoute, type RefusedAnswer } from '../../../../src/gateways/admin/refused-route.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { unknownLoginsPerAddressMax } from '../../../../src/model/limits.ts';
import { askRoute, type RouteReply } from '../../../support/ask-route.ts';
import { SessionScene } from '../../../support/session-scene.ts';

function ask({ refusedLogins }: SessionScene, query = ''): Promise<RouteReply> {
  return askRoute([refusedRoute(refusedLogins)], 'GET', '/v1/refused', query);
}

async function listed(scene: SessionScene, query = ''): Promise<RefusedAnswer> {
  const { status, body } = await ask(scene, query);
  assert.equal(status, 200);
  return body as RefusedAnswer;
}

test('refused logins are listed by device, port and reason, and a truncated answer says so', async () => {
  const scene = new SessionScene();
  scene.sleep.admit({ secret: 'wrong' });
  scene.clock.advance(1000);
  scene.signal.admit({ deviceId: 'NOBODY' as DeviceId });
  const reasons = async (query: string): Promise<[string[], boolean]> => {
    const { refused, more } = await listed(scene, query);
    return [refused.map(({ reason }) => reason), more];
  };
  assert.deepEqual(await reasons(''), [['unknown', 'wrong_mac'], false]);
  assert.deepEqual(await reasons('limit=1'), [['unknown'], true]);
  assert.deepEqual(await reasons('device_id=NOBODY&limit=1'), [['unknown'], false]);
  assert.deepEqual(await reasons('connection=sleep'), [['wrong_mac'], false]);
  assert.deepEqual(await reasons('reason=busy'), [[], false]);
});

test('dropped rows are counted', async () => {
  const scene = new SessionScene();
  for (let login = 0; login < unknownLoginsPerAddressMax + 7; login += 1)
    scene.sleep.admit({ deviceId: `made-up-${login}` as DeviceId });
  const { refused, forgotten } = await listed(scene, 'limit=1000');
  assert.deepEqual([refused.length, forgotten], [unknownLoginsPerAddressMax, 7]);
});

test('an invalid query is 400 and names the field', async () => {
  const scene = new SessionScene();
  for (const query of ['limit=0', 'limit=1001', 'connection=media', 'reason=wrong', 'device_id=']) {
    const { status, body } = await ask(scene, query);
    assert.equal(status, 400);
    assert.match((body as { error: string }).error, new RegExp(`^${query.split('=')[0] ?? ''}: `));
  }
  assert.equal((await ask(scene, 'device=DOOR-1')).status, 400);
});
