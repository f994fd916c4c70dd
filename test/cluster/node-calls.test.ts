/** Calls among nodes: each stays at the node that issued it and ends with it; any node answers for it. Source: cluster.md, Media. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { BridgeLeg, DeviceLeg, LegRefused } from '../../src/tools/simulator/media-leg.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { callBody, callEnd, callStatus, issuance } from '../support/call-actions.ts';
import { checkSeqs, has, logOf, named } from '../support/cluster-faults.ts';
import { ClusterSite, type SiteNode } from '../support/cluster-site.ts';
import { startNats } from '../support/nats-server.ts';
import { withMedia } from '../support/server-process.ts';
import { hasCode, siteDevice, until } from '../support/site-server.ts';
import { lastFirst, temporaryDirectory } from '../support/temporary-store.ts';

const ending = lastFirst({ after });
const key = 'key-of-the-bridge-of-this-test';
const keys = join(temporaryDirectory(ending), 'token-keys.json');
const site = await ClusterSite.start(ending, {
  nats: [await startNats(ending)],
  nodes: ['a', 'b'],
  overrides: [...withMedia, `media.bridge_keys=${key}`, `calls.token_keys_file=${keys}`],
});
const [a, b] = [site.node(0), site.node(1)];

function urlOf(node: SiteNode): string {
  return `ws://127.0.0.1:${node.ports.media}`;
}

async function issue(node: SiteNode, device_id: string, change: object = {}) {
  const body = JSON.stringify(callBody({ device_id, ...change }));
  let answer: ApiAnswer | null = null;
  await until(
    async () => (answer = await node.api.call({ ...issuance, body, atMs: Date.now() })),
    hasCode(0),
  );
  const data = (answer as ApiAnswer | null)?.json.data as Record<'token' | 'media_url' | 'peer_id', string>;
  const session = new URL(data.peer_id).searchParams.get('x_session') ?? '';
  return { token: data.token, url: data.media_url, session };
}

async function isInCall(node: SiteNode, device_id: string): Promise<unknown> {
  const answer = await node.api.call({ ...callStatus, query: `device_id=${device_id}` });
  assert.equal(answer.json.code, 0, answer.text);
  return answer.json.data?.['in_call'];
}

async function says(node: SiteNode, device_id: string, wanted: boolean): Promise<void> {
  while ((await isInCall(node, device_id)) !== wanted) await new Promise(setImmediate);
}

function end(node: SiteNode, device_id: string, session: string): Promise<ApiAnswer> {
  return node.api.call({ ...callEnd, body: JSON.stringify({ device_id, session }), atMs: Date.now() });
}

test('a leg that comes to another node is refused with the media_url of the node that has the call', async () => {
  const device = siteDevice(1);
  const { token, url, session } = await issue(a, device);
  assert.equal(url, urlOf(a));
  assert.equal((await issue(b, device)).url, url, 'the other node is asked for the same call');
  const misdirected = (error: unknown): boolean =>
    error instanceof LegRefused && error.status === 421 && error.message.includes(url);
  await assert.rejects(DeviceLeg.connect({ url: urlOf(b), token }), misdirected);
  await assert.rejects(BridgeLeg.connect({ url: urlOf(b), key, session }), misdirected);
  const headers = { Authorization: `Bearer ${token}` };
  const downlink = await fetch(`http://127.0.0.1:${b.ports.media}/media/v1/downlink.mjpeg`, { headers });
  assert.equal(downlink.status, 421);
  assert.equal(((await downlink.json()) as { media_url: string }).media_url, url);
  const offer = await fetch(`http://127.0.0.1:${b.ports.media}/media/v1/whip`, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...headers, 'Content-Type': 'application/sdp' },
    body: 'v=0\r\n',
  });
  assert.equal(offer.status, 307);
  assert.equal(offer.headers.get('Location'), `http://127.0.0.1:${a.ports.media}/media/v1/whip`);
  const leg = await DeviceLeg.connect({ url, token });
  await says(b, device, true);
  assert.equal((await end(b, device, session)).json.data?.['reason'], 'cancelled');
  await leg.closed;
  await says(b, device, false);
});

test('the calls of a node that is killed end as lost, once; the next one is issued by another node', async () => {
  const device = siteDevice(2);
  const { url, session } = await issue(a, device);
  const waiting = await issue(a, device, { msg_room_id: 'room-2' });
  const leg = await DeviceLeg.connect({ url: urlOf(a), token: waiting.token });
  leg.closed.catch(() => undefined);
  await says(b, device, true);
  await a.kill();
  const next = await issue(b, device);
  assert.deepEqual([url, next.url], [urlOf(a), urlOf(b)]);
  const log = await logOf(b, has('call.ended', device, 2));
  assert.deepEqual(
    named(log, 'call.ended', device).map(({ data }) => [data.session, data['reason']]),
    [
      [session, 'replaced'],
      [waiting.session, 'lost'],
    ],
  );
  checkSeqs(log);
  const ended = await end(b, device, waiting.session);
  assert.equal(ended.json.data?.['reason'], 'lost', ended.text);
  await a.start();
  const refused = (error: unknown): boolean => error instanceof LegRefused && error.status === 401;
  await assert.rejects(DeviceLeg.connect({ url: urlOf(a), token: waiting.token }), refused);
  assert.equal((await issue(a, device)).url, urlOf(b));
  const whole = await logOf(a, has('call.ended', device, 2));
  assert.equal(named(whole, 'call.ended', device).length, 2);
});
