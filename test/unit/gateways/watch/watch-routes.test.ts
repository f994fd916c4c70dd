import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { AdminReply } from '../../../../src/gateways/ops/admin-route.ts';
import { watchRoutes, watchViewerRoutes } from '../../../../src/gateways/watch/watch-routes.ts';
import { askRoute } from '../../../support/ask-route.ts';
import { testDevice } from '../../../support/fakes.ts';
import { WatchScene } from '../../../support/watch-scene.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import type { ViewerAnswer } from '../../../../src/gateways/ops/viewer-routes.ts';
import { callRoom } from '../../../support/call-scene.ts';

async function ask(scene: WatchScene, path: string, session: string): Promise<AdminReply> {
  const isQuery = path === '/v1/calls/media';
  const asked = isQuery ? new URLSearchParams({ session }).toString() : { session };
  return askRoute(watchRoutes(scene), isQuery ? 'GET' : 'POST', path, asked);
}

test('machines are told of a call how its pictures go', async () => {
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
    rebuilds: 4,
    key_frames_asked: 1,
    frame_ms: { p50: 4, p99: 9.5 },
    work_ms: null,
  });
});

test('a call that the media process knows nothing of has no view; without a media process it is 503', async () => {
  const scene = new WatchScene();
  const session = scene.add();
  scene.view = null;
  const { status, body } = await ask(scene, '/v1/calls/media', session);
  assert.deepEqual([status, (body as { view: unknown }).view], [200, null]);
  scene.media.address = null;
  assert.equal((await ask(scene, '/v1/calls/media', session)).status, 503);
});

test('a page has an address that opens it once, within a minute', async () => {
  const scene = new WatchScene();
  const { status, body } = await ask(scene, '/v1/calls/watch', scene.add());
  assert.equal(status, 200);
  const { url, ...rest } = body as { url: string };
  assert.match(url, /^http:\/\/127\.0\.0\.1:8090\/watch\?ticket=[\w-]{43}$/);
  assert.deepEqual(rest, { expires_at: '2027-01-15T08:01:00.000+00:00' });
  const ticket = new URL(url).searchParams.get('ticket') ?? '';
  assert.equal(scene.tickets.take(ticket), null, 'it opens no picture');
  assert.equal(scene.pageTickets.take(ticket), 'session-1');
});

test('a session that does not live is 404, full tickets are 503', async () => {
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

interface Ask {
  readonly ticket?: string;
  readonly bearer?: string;
}

async function askPage(scene: WatchScene, path: string, { ticket, bearer }: Ask = {}): Promise<ViewerAnswer> {
  const route = watchViewerRoutes(scene).find((each) => each.path === path);
  assert.ok(route !== undefined);
  return route.handle({
    query: new URLSearchParams(ticket === undefined ? '' : { ticket }),
    bearer: bearer ?? null,
  });
}

function ticketOf(scene: WatchScene, session: SessionId): string {
  return scene.pageTickets.issue(session)?.ticket ?? assert.fail('no ticket');
}

function keyIn({ body }: ViewerAnswer): string {
  return /<main data-key="([\w-]{43})"/.exec(body)?.[1] ?? assert.fail('no key in the page');
}

async function openPage(scene: WatchScene, session: SessionId): Promise<ViewerAnswer> {
  return askPage(scene, '/watch', { ticket: ticketOf(scene, session) });
}

test('a page opens by its ticket once; whoever comes again is told how to get another', async () => {
  const scene = new WatchScene();
  const ticket = ticketOf(scene, scene.add());
  const first = await askPage(scene, '/watch', { ticket });
  assert.deepEqual([first.status, first.contentType], [200, 'text/html; charset=utf-8']);
  assert.ok(!first.body.includes(ticket), 'the ticket is not in the page');
  for (const again of [ticket, 'guessed', '<b>', undefined]) {
    const refused = await askPage(scene, '/watch', again === undefined ? {} : { ticket: again });
    assert.equal(refused.status, 401);
    assert.match(refused.body, /reveille calls watch SESSION/);
    assert.ok(!refused.body.includes('<b>'));
  }
});

test('a ticket of a picture opens no page, and one of a page is too old after a minute', async () => {
  const scene = new WatchScene();
  const session = scene.add();
  const picture = scene.tickets.issue(session);
  assert.equal((await askPage(scene, '/watch', { ticket: picture?.ticket ?? '' })).status, 401);
  const ticket = ticketOf(scene, session);
  scene.clock.advance(60_000);
  assert.equal((await askPage(scene, '/watch', { ticket })).status, 401);
});

test('a call that has ended meanwhile has no page', async () => {
  const scene = new WatchScene();
  const ticket = ticketOf(scene, scene.add());
  scene.live.clear();
  const refused = await askPage(scene, '/watch', { ticket });
  assert.equal(refused.status, 404);
  assert.match(refused.body, /This call has ended/);
});

test('nothing runs in the page but its own script, and pictures and sound come from the media listeners alone', async () => {
  const scene = new WatchScene();
  const session = scene.add();
  const nonces = new Set<string>();
  const origins = 'https://media.example:8083 https://media.example:8084';
  for (const { headers = {}, body } of [await openPage(scene, session), await openPage(scene, session)]) {
    const [, nonce = ''] =
      /script-src 'nonce-([\w-]{22})'/.exec(headers['Content-Security-Policy'] ?? '') ?? [];
    assert.equal(
      headers['Content-Security-Policy'],
      `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; ` +
        `img-src ${origins}; connect-src 'self' ${origins}; base-uri 'none'; ` +
        "form-action 'none'; frame-ancestors 'none'",
    );
    assert.equal(headers['Referrer-Policy'], 'no-referrer');
    assert.equal(body.split(`nonce="${nonce}"`).length, 3, 'one style and one script');
    nonces.add(nonce);
  }
  assert.equal(nonces.size, 2, 'each page has its own');
});

test('what devices and backends call themselves stays text in the page', async () => {
  const scene = new WatchScene();
  const hostile = `"><script>alert(1)</script><img src=x onerror='x'>&`;
  const session = scene.add({
    sessionId: hostile as SessionId,
    deviceId: hostile as DeviceId,
    room: { ...callRoom, roomId: hostile },
  });
  const { body } = await openPage(scene, session);
  assert.equal(body.split('<script').length, 2, 'its own script alone');
  assert.ok(!body.includes('<img src=x'));
  assert.ok(body.includes('&#60;script&#62;alert(1)'));
});

test('an open page is told how its call goes, and why it ended', async () => {
  const scene = new WatchScene();
  const session = scene.add({ state: 'connected' });
  const bearer = keyIn(await openPage(scene, session));
  const { status, body } = await askPage(scene, '/watch/view', { bearer });
  const told = JSON.parse(body) as { call: { state: string }; view: { rebuilds: number }; end_reason: null };
  assert.deepEqual(
    [status, told.call.state, told.view.rebuilds, told.end_reason],
    [200, 'connected', 4, null],
  );
  const ended = scene.live.get(session) ?? assert.fail();
  scene.live.clear();
  scene.keys.changed(ended, {
    sessionId: session,
    deviceId: ended.deviceId,
    from: 'connected',
    state: 'ended',
    reason: 'busy',
    atMs: 0,
  });
  assert.deepEqual(JSON.parse((await askPage(scene, '/watch/view', { bearer })).body), {
    end_reason: 'busy',
  });
  assert.equal((await askPage(scene, '/watch/pictures', { bearer })).status, 404);
});

async function picturesOf(scene: WatchScene, bearer: string): Promise<{ source: string; output: string }> {
  const { status, body } = await askPage(scene, '/watch/pictures', { bearer });
  assert.equal(status, 200, body);
  return JSON.parse(body) as { source: string; output: string };
}

function ticketIn(link: string): string {
  return new URL(link).searchParams.get('ticket') ?? '';
}

test('an open page is given links to both pictures, as often as it asks, while there are tickets', async () => {
  const scene = new WatchScene();
  const session = scene.add();
  const bearer = keyIn(await openPage(scene, session));
  const links: string[] = [];
  for (let asked = 0; asked < 2; asked++) {
    const pictures = await picturesOf(scene, bearer);
    links.push(pictures.source, pictures.output);
    for (const [picture, link] of Object.entries(pictures)) {
      const url = new URL(link);
      assert.equal(url.origin + url.pathname, 'https://media.example:8083/media/v1/downlink.mjpeg');
      assert.equal(url.searchParams.get('picture'), picture);
      assert.equal(scene.tickets.take(ticketIn(link)), session);
    }
  }
  assert.equal(new Set(links).size, 4);
  for (let taken = 0; taken < 4; taken++) scene.tickets.issue(session);
  assert.equal((await askPage(scene, '/watch/pictures', { bearer })).status, 503);
});

test('an open page is given a link to the whole call by WebRTC, one at a time', async () => {
  const scene = new WatchScene();
  const session = scene.add();
  const bearer = keyIn(await openPage(scene, session));
  const links: URL[] = [];
  for (let asked = 0; asked < 6; asked++) {
    const { status, body } = await askPage(scene, '/watch/live', { bearer });
    assert.equal(status, 200, body);
    links.push(new URL((JSON.parse(body) as { link: string }).link));
  }
  const tickets = links.map(({ searchParams }) => searchParams.get('ticket') ?? '');
  assert.equal(new Set(links.map(({ origin, pathname }) => origin + pathname)).size, 1);
  assert.equal(`${links[0]?.origin}${links[0]?.pathname}`, 'https://media.example:8083/media/v1/whep');
  assert.deepEqual(
    tickets.map((ticket) => scene.tickets.take(ticket)),
    [null, null, null, null, null, session],
  );
  for (let taken = 0; taken < 4; taken++) scene.tickets.issue(session);
  assert.equal((await askPage(scene, '/watch/live', { bearer })).status, 503);
  scene.live.clear();
  assert.equal((await askPage(scene, '/watch/live', { bearer })).status, 404);
});

test('one page cannot take all tickets: its next ones take the place of its last', async () => {
  const scene = new WatchScene();
  const session = scene.add();
  const [greedy, other] = [keyIn(await openPage(scene, session)), keyIn(await openPage(scene, session))];
  const first = await picturesOf(scene, greedy);
  for (let asked = 0; asked < 1000; asked++) await picturesOf(scene, greedy);
  const { source, output } = await picturesOf(scene, other);
  const last = await picturesOf(scene, greedy);
  assert.equal(scene.tickets.take(ticketIn(first.source)), null, 'it was replaced');
  for (const link of [source, output, last.source, last.output])
    assert.equal(scene.tickets.take(ticketIn(link)), session);
});

test('without the key of an open page nothing is told', async () => {
  const scene = new WatchScene();
  const session = scene.add();
  const bearer = keyIn(await openPage(scene, session));
  for (const path of ['/watch/view', '/watch/pictures', '/watch/live']) {
    for (const other of [{}, { bearer: 'guessed' }, { bearer: ticketOf(scene, session) }, { ticket: bearer }])
      assert.equal((await askPage(scene, path, other)).status, 401, path);
    assert.equal((await askPage(scene, path, { bearer })).status, 200, path);
  }
  scene.clock.advance(30 * 60_000);
  assert.equal((await askPage(scene, '/watch/view', { bearer })).status, 401);
});
