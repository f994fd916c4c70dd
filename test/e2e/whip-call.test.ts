/**
 * Calls by WHIP through a real server and its media process, with a client of another stack. Source: RFC 9725;
 * calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  GenericNack,
  PictureLossIndication,
  RtcpPayloadSpecificFeedback,
  RtcpTransportLayerFeedback,
} from 'werift';
import { rtcResendBytesBurstMax } from '../../src/model/media/rtc-limits.ts';
import { BridgeLeg } from '../../src/tools/simulator/media-leg.ts';
import { issueCall } from '../support/call-actions.ts';
import {
  openMediaScene,
  untouchedFrame,
  untouchedVideo,
  type MediaScene,
} from '../support/media-process-scene.ts';
import { hostileOffers } from '../support/hostile-offers.ts';
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

/** Kills the media process; resolves when the next one listens on the same port. */
async function endMediaProcess({ server: { command } }: MediaScene): Promise<void> {
  const isUp = (line: string): boolean => line.includes('"msg":"media process: started"');
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

/** A call with a bridge and a client by WHIP. */
async function openCall(t: TestContext, scene: MediaScene, device_id: string) {
  const { token, session } = await issueCall(scene, { ...untouchedVideo, device_id });
  const bridge = await BridgeLeg.connect({ url: scene.url, key: testBridgeKeys.own, session });
  await bridge.next('start');
  const client = await RtcClient.open(t);
  await whip(scene, client, token);
  const call = { bridge, client, sequence: 0 };
  await passPicture(call);
  return call;
}

interface Call {
  readonly bridge: BridgeLeg;
  readonly client: RtcClient;
  sequence: number;
}

/** Asserts that a picture of the bridge reaches the client, and sound of the client the bridge. */
async function passPicture(call: Call): Promise<void> {
  const { bridge, client } = call;
  client.came.length = 0;
  const { audioPackets } = bridge.counts;
  while (!client.came.includes('video 6588') || bridge.counts.audioPackets === audioPackets) {
    call.sequence += 1;
    bridge.frame(untouchedFrame());
    client.sendAudio(call.sequence, call.sequence * 960, Buffer.from('f8fffe', 'hex'));
    await bridge.ping();
  }
}

test('hostile offers and a flood of feedback do not affect sound and video of another call', async (t) => {
  const scene = await openMediaScene(t);
  const watched = await openCall(t, scene, 'TESTDEVICE01');
  const hostile = await openCall(t, scene, 'SLEEPING01');
  const { token } = await issueCall(scene, { ...untouchedVideo, device_id: 'SLEEPING02' });

  for (const [what, offer] of [...hostileOffers].slice(-4)) {
    const answering = postOffer(scene, token, offer);
    await passPicture(watched);
    const answer = await answering;
    assert.equal(answer.status, 422, what);
    assert.match(await answer.text(), /at most/);
  }

  const before = hostile.client.packets.length;
  for (let round = 0; round < 50; round += 1) {
    await hostile.client.feedBack(({ ssrc, sequence: last }) => {
      const lost = Array.from({ length: 200 }, (_, index) => (last - index) & 0xffff);
      const nack = new GenericNack({ senderSsrc: 1, mediaSourceSsrc: ssrc, lost });
      const loss = new PictureLossIndication({ senderSsrc: 1, mediaSsrc: ssrc });
      return [
        new RtcpTransportLayerFeedback({ feedback: nack }),
        new RtcpPayloadSpecificFeedback({ feedback: loss }),
      ];
    });
    await passPicture(watched);
  }
  const resent = hostile.client.packets
    .slice(before)
    .reduce((sum, { packet }) => sum + packet.payload.length, 0);
  assert(resent <= rtcResendBytesBurstMax, `${resent} bytes`);
  await passPicture(hostile);
});
