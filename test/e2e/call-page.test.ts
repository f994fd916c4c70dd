/** The page of a call at a real server, with the requests of a browser. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { connectBridge, connectDevice, issueCall, openCallPage } from '../support/call-actions.ts';
import { opsOf } from '../support/driven-server.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

/** A key for the page of the session. */
async function openPage(session: string): Promise<string> {
  const { url } = await opsOf(server).change<{ readonly url: string }>('/v1/calls/watch', { session });
  return openCallPage(url);
}

function askAs(key: string, path: string, method = 'GET'): Promise<Response> {
  const headers = { Authorization: `Bearer ${key}` };
  return fetch(`http://127.0.0.1:${server.ports.ops}${path}`, { method, headers });
}

interface Told {
  readonly call?: { readonly state: string; readonly legs: object };
  readonly view?: { readonly viewers: number; readonly mode: string } | null;
  readonly end_reason: string | null;
}

async function notify(key: string): Promise<Told> {
  const answer = await askAs(key, '/watch/view');
  assert.equal(answer.status, 200);
  return (await answer.json()) as Told;
}

test('a page follows its call to the end, and shows both pictures', async () => {
  const { session, token } = await issueCall(server, { msg_room_id: 'watched' });
  const key = await openPage(session);
  const issued = await notify(key);
  assert.deepEqual([issued.call?.state, issued.view, issued.end_reason], ['issued', null, null]);

  const device = await connectDevice(server, token);
  const bridge = await connectBridge(server, { session });
  await bridge.next('start');
  const links = (await (await askAs(key, '/watch/links', 'POST')).json()) as Record<
    'source' | 'output',
    string
  >;
  const streams = [await fetch(links.source), await fetch(links.output)];
  for (const { status, headers } of streams) {
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^multipart\/x-mixed-replace/);
  }
  const { call, view } = await notify(key);
  assert.deepEqual([call?.state, call?.legs], ['establishing', { device: true, bridge: true }]);
  assert.deepEqual([view?.mode, view?.viewers], ['fit_screen', 2]);
  const seen = await opsOf(server).ask<Told>('/v1/calls/media', new URLSearchParams({ session }));
  assert.equal(seen.view?.viewers, 2);

  device.hangup();
  for (const stream of streams) await stream.arrayBuffer();
  assert.deepEqual(await notify(key), { end_reason: 'hangup_device' });
});

test('the key of a page opens nothing else, and an operator token is no such key', async () => {
  const { session } = await issueCall(server, { msg_room_id: 'keyed' });
  const key = await openPage(session);
  assert.equal((await askAs(key, '/v1/calls')).status, 401);
  assert.equal((await askAs(key, `/v1/calls/media?session=${session}`)).status, 401);
  assert.equal((await askAs(findOpsToken(server.dataDirectory) ?? '', '/watch/view')).status, 401);
  const foreign = { Authorization: `Bearer ${key}`, Origin: 'http://evil.example' };
  const url = `http://127.0.0.1:${server.ports.ops}/watch/view`;
  assert.equal((await fetch(url, { headers: foreign })).status, 403);
});
