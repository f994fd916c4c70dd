/** The page of a call: the ticket that opens it, its key, and the requests that the key permits. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fastify } from 'fastify';
import { CallPage } from '../../../../src/gateways/console/call-page.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { WatchScene } from '../../../support/watch-scene.ts';

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly policy: string;
}

type Ask = (method: 'GET' | 'POST', path: string, bearer?: string, body?: object) => Promise<Answer>;

interface OpenedScene {
  readonly scene: WatchScene;
  readonly ask: Ask;
  readonly session: SessionId;
  /** The key of a page opened by a new ticket. */
  readonly open: () => Promise<string>;
}

async function openScene(t: TestContext): Promise<OpenedScene> {
  const scene = new WatchScene();
  const app = fastify();
  t.after(() => app.close());
  await new CallPage(scene).register(app);
  const ask: Ask = async (method, url, bearer, body) => {
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    const answer = await app.inject({ method, url, headers, ...(body !== undefined && { body }) });
    const isJson = answer.headers['content-type']?.toString().includes('json') === true;
    return {
      status: answer.statusCode,
      json: isJson ? answer.json<Answer['json']>() : {},
      policy: String(answer.headers['content-security-policy']),
    };
  };
  const session = scene.add({ state: 'connected' });
  const open = async (): Promise<string> => {
    const { json } = await ask('POST', '/watch/open', undefined, { ticket: ticketOf(scene, session) });
    return String(json['key']);
  };
  return { scene, ask, session, open };
}

function ticketOf(scene: WatchScene, session: SessionId): string {
  return scene.pageTickets.issue(session)?.ticket ?? assert.fail('no ticket');
}

function ticketIn(link: unknown): string {
  return new URL(String(link)).searchParams.get('ticket') ?? '';
}

test('a ticket opens a call once; an invalid one is refused and reported', async (t) => {
  const { scene, ask, session } = await openScene(t);
  const ticket = ticketOf(scene, session);
  const opened = await ask('POST', '/watch/open', undefined, { ticket });
  assert.equal(opened.status, 200);
  assert.match(String(opened.json['key']), /^[\w-]{43}$/);
  for (const again of [ticket, 'guessed'])
    assert.equal((await ask('POST', '/watch/open', undefined, { ticket: again })).status, 401);
  assert.deepEqual(scene.refused, ['ticket', 'ticket']);
  for (const body of [{}, { ticket: '' }, { ticket: 'x'.repeat(257) }, { ticket, more: 1 }])
    assert.equal((await ask('POST', '/watch/open', undefined, body)).status, 400);
});

test('a ticket for a picture opens no call, one expires after a minute, and an ended call is 404', async (t) => {
  const { scene, ask, session } = await openScene(t);
  const open = async (ticket: string): Promise<number> =>
    (await ask('POST', '/watch/open', undefined, { ticket })).status;
  assert.equal(await open(scene.tickets.issue(session)?.ticket ?? ''), 401);
  const old = ticketOf(scene, session);
  scene.clock.advance(60_000);
  assert.equal(await open(old), 401);
  const late = ticketOf(scene, session);
  scene.live.clear();
  assert.equal(await open(late), 404);
});

test('the page runs only its own script, and loads only its icon, and pictures and sound of the media listeners', async (t) => {
  const { ask } = await openScene(t);
  const { status, policy } = await ask('GET', '/watch?ticket=x');
  assert.equal(status, 200);
  const origins = 'https://media.example:8083 https://media.example:8084';
  assert.equal(
    policy,
    `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' ${origins}; connect-src 'self' ${origins}; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
      "trusted-types 'none'",
  );
});

test('an open page reads the state of its call, and the reason of its end', async (t) => {
  const { scene, ask, session, open } = await openScene(t);
  const key = await open();
  const { status, json } = await ask('GET', '/watch/view', key);
  const {
    call,
    view,
    end_reason: reason,
  } = json as {
    call: { state: string };
    view: { rebuilds: number };
    end_reason: null;
  };
  assert.deepEqual([status, call.state, view.rebuilds, reason], [200, 'connected', 4, null]);
  const ended = scene.live.get(session) ?? assert.fail();
  scene.live.clear();
  const { deviceId } = ended;
  const change = { sessionId: session, deviceId, from: 'connected', state: 'ended', atMs: 0 } as const;
  scene.keys.changed(ended, { ...change, reason: 'busy' });
  assert.deepEqual((await ask('GET', '/watch/view', key)).json, { end_reason: 'busy' });
  assert.equal((await ask('POST', '/watch/links', key)).status, 404);
});

test('an open page gets links to its media whenever it asks, while there are tickets', async (t) => {
  const { scene, ask, session, open } = await openScene(t);
  const key = await open();
  const seen = new Set<unknown>();
  for (let asked = 0; asked < 2; asked++) {
    const { json } = await ask('POST', '/watch/links', key);
    const places = Object.values(json).map((link) => {
      seen.add(link);
      assert.equal(scene.tickets.redeem(ticketIn(link)), session);
      return String(link).replace(/ticket=[\w-]{43}/, 'ticket=…');
    });
    assert.deepEqual(places, [
      'https://media.example:8083/media/v1/whep?ticket=…',
      'https://media.example:8083/media/v1/downlink.mjpeg?ticket=…&picture=source',
      'https://media.example:8083/media/v1/downlink.mjpeg?ticket=…&picture=output',
    ]);
  }
  assert.equal(seen.size, 6);
  for (let taken = 0; taken < 4; taken++) scene.tickets.issue(session);
  assert.equal((await ask('POST', '/watch/links', key)).status, 503);
});

test('a page that requests links again replaces its own tickets, and none of another page', async (t) => {
  const { scene, ask, session, open } = await openScene(t);
  const linksOf = async (key: string): Promise<unknown[]> =>
    Object.values((await ask('POST', '/watch/links', key)).json);
  const [greedy, other] = [await open(), await open()];
  const kept = await linksOf(other);
  const replaced = await linksOf(greedy);
  const last = await linksOf(greedy);
  const taken = (links: unknown[]): unknown[] => links.map((link) => scene.tickets.redeem(ticketIn(link)));
  assert.deepEqual(taken(replaced), [null, null, null]);
  assert.deepEqual(taken([...kept, ...last]), Array(6).fill(session));
});

test('without the key of an open page every request is refused, and a key is valid for half an hour', async (t) => {
  const { scene, ask, session, open } = await openScene(t);
  const key = await open();
  for (const [method, path] of [
    ['GET', '/watch/view'],
    ['POST', '/watch/links'],
  ] as const) {
    for (const wrong of [undefined, 'guessed', ticketOf(scene, session)])
      assert.equal((await ask(method, path, wrong)).status, 401, path);
    assert.equal((await ask(method, path, key)).status, 200, path);
    scene.clock.advance(60_000);
  }
  scene.clock.advance(28 * 60_000);
  assert.equal((await ask('GET', '/watch/view', key)).status, 401);
});
