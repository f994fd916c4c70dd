import { test } from 'node:test';
import assert from 'node:assert/strict';
import { callMediaRoutes } from '../../../../src/gateways/admin/call-routes.ts';
import { askRoute, type RouteReply } from '../../../support/ask-route.ts';
import { testDevice } from '../../../support/fakes.ts';
import { WatchScene } from '../../../support/watch-scene.ts';

async function ask(scene: WatchScene, path: string, session: string): Promise<RouteReply> {
  const isQuery = path === '/v1/calls/media';
  const asked = isQuery ? new URLSearchParams({ session }).toString() : { session };
  return askRoute(callMediaRoutes(scene), isQuery ? 'GET' : 'POST', path, asked);
}

test("a program can read the figures of a call's pictures", async () => {
  const scene = new WatchScene();
  const { status, body } = await ask(scene, '/v1/calls/media', scene.add({ state: 'connected' }));
  assert.equal(status, 200);
  const { call, view } = body as { call: Record<string, unknown>; view: Record<string, unknown> };
  assert.deepEqual(
    [call['session'], call['device_id'], call['state'], call['legs']],
    ['session-1', testDevice, 'connected', { device: true, bridge: false }],
  );
  const { frames, ...figures } = view;
  assert.equal((frames as Record<string, number>)['undecodable'], 2);
  assert.deepEqual(figures, {
    mode: 'fit_screen',
    device: true,
    bridge: true,
    viewers: 2,
    source: {
      format: 'h264',
      width: null,
      height: null,
      frames_per_second: 15,
      bytes_per_second: 40_000,
    },
    output: {
      format: 'mjpeg',
      width: 132,
      height: 100,
      frames_per_second: 14.5,
      bytes_per_second: 30_000,
    },
    camera: null,
    rebuilds: 4,
    key_frames_asked: 1,
    frame_ms: { p50: 4, p99: 9.5 },
    work_ms: null,
  });
});

test('a call unknown to the media process has no view; without a media process the answer is 503', async () => {
  const scene = new WatchScene();
  const session = scene.add();
  scene.view = null;
  const { status, body } = await ask(scene, '/v1/calls/media', session);
  assert.deepEqual([status, (body as { view: unknown }).view], [200, null]);
  scene.media.address = null;
  assert.equal((await ask(scene, '/v1/calls/media', session)).status, 503);
});

test('the address of a page opens it once, within a minute', async () => {
  const scene = new WatchScene();
  const { status, body } = await ask(scene, '/v1/calls/watch', scene.add());
  assert.equal(status, 200);
  const { url, ...rest } = body as { url: string };
  assert.match(url, /^http:\/\/127\.0\.0\.1:8090\/watch\?ticket=[\w-]{43}$/);
  assert.deepEqual(rest, { expires_at: '2027-01-15T08:01:00.000+00:00' });
  const ticket = new URL(url).searchParams.get('ticket') ?? '';
  assert.equal(scene.tickets.redeem(ticket), null, 'it opens no picture');
  assert.equal(scene.pageTickets.redeem(ticket), 'session-1');
});

test('an unknown session is 404, too many tickets are 503', async () => {
  const scene = new WatchScene();
  for (const path of ['/v1/calls/watch', '/v1/calls/media'])
    assert.deepEqual(await ask(scene, path, 'nobody'), {
      status: 404,
      body: { error: 'no live call session "nobody"' },
    });
  const session = scene.add();
  const statuses: number[] = [];
  for (let asked = 0; asked < 5; asked++)
    statuses.push((await ask(scene, '/v1/calls/watch', session)).status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 503]);
  assert.equal((await ask(scene, '/v1/calls/media', '')).status, 400);
});
