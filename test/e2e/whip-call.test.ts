/**
 * Calls by WHIP through a real server and its media process, with a client of another stack. Source: RFC 9725;
 * calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BridgeLeg } from '../../src/tools/simulator/media-leg.ts';
import { issueCall } from '../support/call-actions.ts';
import {
  openMediaScene,
  untouchedFrame,
  untouchedVideo,
  type MediaScene,
} from '../support/media-process-scene.ts';
import { RtcClient } from '../support/rtc-client.ts';
import { testBridgeKeys } from '../support/test-server.ts';

function endpointOf({ url }: MediaScene): string {
  return `${url.replace('ws:', 'http:')}/media/v1/whip`;
}

function postOffer(scene: MediaScene, token: string, body: string): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/sdp' };
  return fetch(endpointOf(scene), { method: 'POST', headers, body });
}

/** Connects a client by its offer. */
async function whip(scene: MediaScene, client: RtcClient, token: string): Promise<Response> {
  const answer = await postOffer(scene, token, await client.offer());
  assert.equal(answer.status, 201);
  await client.connection.setRemoteDescription({ type: 'answer', sdp: await answer.text() });
  return answer;
}

function changeSession(
  scene: MediaScene,
  answer: Response,
  token: string,
  change: RequestInit,
): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}`, ...(change.headers as Record<string, string>) };
  return fetch(new URL(answer.headers.get('location') ?? '', endpointOf(scene)), { ...change, headers });
}

/** By force; resolves when the next one is up, on the same port. */
async function endMediaProcess({ server: { command } }: MediaScene): Promise<void> {
  const isUp = (line: string): boolean => line.includes('"msg":"the media process is up"');
  const first = await command.line(isUp);
  process.kill((JSON.parse(first) as { readonly pid: number }).pid, 'SIGKILL');
  await command.line((line) => isUp(line) && line !== first);
}

test('a call by WHIP: media both ways, candidates, a media process that dies, and a device that hangs up', async (t) => {
  const scene = await openMediaScene(t);
  const { token, session } = await issueCall(scene, untouchedVideo);
  const join = (): Promise<BridgeLeg> =>
    BridgeLeg.connect({ url: scene.url, key: testBridgeKeys.own, session });
  const bridge = await join();
  await bridge.next('start');

  const client = await RtcClient.open(t);
  const answer = await whip(scene, client, token);
  const fragment = {
    method: 'PATCH',
    headers: {
      'Content-Type': 'application/trickle-ice-sdpfrag',
      'If-Match': answer.headers.get('etag') ?? '',
    },
    body: 'm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=candidate:1 1 udp 1 127.0.0.1 9 typ host\r\n',
  };
  const patched = await changeSession(scene, answer, token, fragment);
  assert.equal(patched.status, 204, await patched.text());

  while (!client.came.includes('video 6588')) {
    bridge.frame(untouchedFrame());
    await bridge.ping();
  }
  await client.until('commands 00200000');
  const connected = await bridge.until(({ type, state }) => type === 'state' && state === 'connected');
  assert.equal(connected['session'], session);
  for (let i = 0; bridge.counts.videoFrames === 0 || bridge.counts.audioPackets === 0; i += 1) {
    client.sendVideo(i, i * 3000, Buffer.from('6588', 'hex'));
    client.sendAudio(i, i * 960, Buffer.from('f8fffe', 'hex'));
    await bridge.ping();
  }

  await endMediaProcess(scene);
  assert.equal((await changeSession(scene, answer, token, { method: 'DELETE' })).status, 404);
  const again = await whip(scene, await RtcClient.open(t), token);
  const bridgeAgain = await join();
  assert.equal((await changeSession(scene, again, token, { method: 'DELETE' })).status, 200);
  const ended = await bridgeAgain.until(({ type, state }) => type === 'state' && state === 'ended');
  assert.equal(ended['reason'], 'hangup_device');

  const late = await postOffer(scene, token, 'v=0');
  const { detail } = (await late.json()) as { readonly detail: string };
  assert.deepEqual([late.status, late.headers.get('www-authenticate')], [401, 'Bearer']);
  assert.match(detail, /has ended/);
});
