/**
 * Viewers by WebRTC at the media listener, on real sockets, with connections driven by the test. Source: RFC 9725, as adopted by
 * WHEP.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { encodeFrameHeader, type FrameHeader } from '../../src/protocol/media/frame-header.ts';
import type { FakeJoinedLeg } from '../support/fake-relay.ts';
import type { FakeOpenLeg } from '../support/fake-leg-service.ts';
import type { FakeRtcPeer } from '../support/fake-rtc-peers.ts';
import { MediaListenerScene } from '../support/media-listener-scene.ts';
import { plainRequest, type HttpAnswer } from '../support/media-peer.ts';

const endpoint = '/media/v1/whep';
const offer = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\n';
const page = { Origin: 'https://ops.example' };
const sdp = { 'Content-Type': 'application/sdp' };

let scene: MediaListenerScene;
beforeEach(async () => {
  scene = new MediaListenerScene();
  await scene.listen();
});
afterEach(() => scene.close());

function ask(target: string, headers: Readonly<Record<string, string>> = {}, body = ''): Promise<HttpAnswer> {
  const length = { 'Content-Length': String(Buffer.byteLength(body)) };
  return scene.ask(`${plainRequest(target, { ...length, ...page, ...headers })}${body}`);
}

function postOffer(query = '?ticket=good-ticket', headers = sdp): Promise<HttpAnswer> {
  return ask(`POST ${endpoint}${query}`, headers, offer);
}

interface Watching {
  readonly path: string;
  readonly peer: FakeRtcPeer;
  readonly leg: FakeOpenLeg;
  readonly joined: FakeJoinedLeg;
}

async function watch(): Promise<Watching> {
  const answer = await postOffer();
  assert.equal(answer.status, '201 Created', answer.body);
  return {
    path: answer.headers.get('location') ?? '',
    peer: await scene.rtcPeers.peer(),
    leg: await scene.service.leg(),
    joined: await scene.relay.leg(),
  };
}

function video(format: 'h264' | 'mjpeg'): Uint8Array {
  const header: FrameHeader = {
    kind: 'video',
    format,
    isKeyFrame: true,
    width: 16,
    height: 16,
    timestampMs: 7,
  };
  return encodeFrameHeader(header);
}
const sound = encodeFrameHeader({ kind: 'audio', format: 'opus', timestampMs: 7 });
const payload = Buffer.from('beef', 'hex');

/** Resolves when the leg accepts the next picture. */
function send(out: { send: FakeJoinedLeg['frameOutput']['send'] }, header: Uint8Array): Promise<void> {
  return new Promise((sent) => out.send(header, payload, sent));
}

test('a ticket opens the call once, for a page of any origin', async () => {
  const { path, leg, joined } = await watch();
  assert.match(path, /^\/media\/v1\/whep\/[\w-]{24}$/);
  assert.deepEqual([leg.kind, joined.kind, joined.sessionId], ['viewer', 'live', scene.service.sessionId]);
  assert.equal(scene.telemetry.count('media login accepted'), 1);
  assert.equal((await postOffer()).status, '401 Unauthorized');
});

test('a preflight allows pages of any origin for WHEP, but not for WHIP', async () => {
  await scene.listen({ rtc: { corsOrigins: [], iceServers: [] } });
  const allowed = async (path: string): Promise<string | null> =>
    (await ask(`OPTIONS ${path}`)).headers.get('access-control-allow-origin') ?? null;
  assert.deepEqual([await allowed(endpoint), await allowed('/media/v1/whip')], ['*', null]);
  assert.deepEqual(
    [await allowed(`${endpoint}/session`), await allowed('/media/v1/whip/session')],
    ['*', null],
  );
  const refused = await postOffer('?ticket=unknown');
  assert.deepEqual(
    [refused.status, refused.headers.get('access-control-allow-origin')],
    ['401 Unauthorized', '*'],
  );
});

for (const [what, query, headers, status] of [
  ['no ticket', '', sdp, '401 Unauthorized'],
  ['two tickets', '?ticket=good-ticket&ticket=good-ticket', sdp, '401 Unauthorized'],
  ['another type', '?ticket=good-ticket', { 'Content-Type': 'text/plain' }, '415 Unsupported Media Type'],
] as const)
  test(`an offer with ${what} is refused without using the ticket`, async () => {
    assert.equal((await ask(`POST ${endpoint}${query}`, headers, offer)).status, status);
    assert.equal((await postOffer()).status, '201 Created');
  });

test('without WebRTC the ticket stays valid for MJPEG', async () => {
  scene.rtcPeers.missing = 'no library';
  assert.equal((await postOffer()).status, '503 Service Unavailable');
  const stream = await scene.watch({ bearer: null, query: '?ticket=good-ticket' });
  assert.equal(stream.answer.statusCode, 200);
});

test('a viewer beyond the limit is 409, and leaves nothing', async () => {
  scene.service.isOver = true;
  assert.equal((await postOffer()).status, '409 Conflict');
  assert.deepEqual([scene.rtcPeers.count, scene.listener.legCount], [0, 0]);
});

test('H.264 is sent by RTP, pictures by the channel of their stream, and nothing before the connection', async () => {
  const { peer, joined } = await watch();
  const { source, output } = joined.liveOutput;
  await send(source, video('h264'));
  assert.deepEqual([peer.sent, joined.keyFramesWanted], [[], 0]);
  peer.owner.connected();
  assert.equal(joined.keyFramesWanted, 1, 'to begin with');
  for (const [out, header] of [
    [source, video('h264')],
    [source, video('mjpeg')],
    [output, video('mjpeg')],
    [output, video('h264')],
  ] as const) {
    const sending = send(out, header);
    peer.sending.pop()?.();
    await sending;
  }
  assert.deepEqual(peer.sent, ['video beef', 'source beef', 'picture beef', 'video beef']);
  peer.owner.keyFrameWanted();
  assert.equal(joined.keyFramesWanted, 2);
});

test('pictures of the camera are accepted while the connection has a channel for them', async () => {
  const { peer, joined } = await watch();
  const { camera } = joined.liveOutput;
  assert.equal(camera.isTaken(), false);
  peer.channels.add('camera');
  assert.equal(camera.isTaken(), false, 'nothing arrives yet');
  peer.owner.connected();
  assert.equal(camera.isTaken(), true);
  const sending = new Promise<void>((sent) => camera.sendPicture(Buffer.from('beef', 'hex'), sent));
  peer.sending.pop()?.();
  await sending;
  assert.deepEqual(peer.sent, ['camera beef']);
});

test('H.264 of both streams is sent one after the other, as when a bridge changes its format', async () => {
  const { peer, joined } = await watch();
  peer.owner.connected();
  const [fromSource, fromOutput] = [joined.liveOutput.source, joined.liveOutput.output].map((stream) =>
    send(stream, video('h264')),
  );
  assert.deepEqual(peer.sent, ['video beef'], 'the peer has not sent it yet');
  peer.sending.shift()?.();
  await fromSource;
  assert.deepEqual(peer.sent, ['video beef', 'video beef']);
  peer.sending.shift()?.();
  await fromOutput;
});

test('streams that the browser does not accept are omitted without blocking others', async () => {
  scene.rtcPeers.agreed = { ...scene.rtcPeers.agreed, videoDown: false, pictures: false };
  const { peer, joined } = await watch();
  peer.owner.connected();
  await send(joined.liveOutput.source, video('h264'));
  await send(joined.liveOutput.output, video('mjpeg'));
  assert.deepEqual(peer.sent, []);
});

test('sound is encoded only for a viewer that has switched it on', async () => {
  const { peer, joined } = await watch();
  const { source, output } = joined.liveOutput;
  const heard = (): unknown[] => [source.sound, output.sound];
  peer.owner.command(0x3000);
  assert.deepEqual(heard(), [null, null], 'it is not connected');
  peer.owner.connected();
  assert.deepEqual(heard(), [peer.agreed.audioDown, null]);
  await send(source, sound);
  assert.deepEqual(peer.sent, ['audio beef']);
  peer.owner.command(0x2001);
  assert.deepEqual(heard(), [peer.agreed.audioDown, null], 'it is no device');
  peer.owner.command(0x3001);
  assert.deepEqual(heard(), [null, null]);
});

test('nothing that a viewer sends reaches the call', async () => {
  const { peer, joined, leg } = await watch();
  peer.owner.connected();
  peer.owner.video(Buffer.from('aa', 'hex'), true, 1);
  peer.owner.audio('opus', Buffer.from('aa', 'hex'), 1);
  peer.owner.bitrate(1000);
  assert.deepEqual([joined.frames, joined.maxFpsWanted, leg.reports], [[], [], []]);
});

test('a viewer ends by DELETE, by a disconnect, or with the call', async () => {
  for (const end of ['delete', 'gone', 'ended'] as const) {
    await scene.listen();
    scene.service.tickets.set('good-ticket', { sessionId: scene.service.sessionId });
    const [peers, legs, joins] = [
      scene.rtcPeers.opened.length,
      scene.service.legs.length,
      scene.relay.joined.length,
    ];
    const { headers } = await postOffer();
    const path = headers.get('location') ?? '';
    const [peer, leg] = [await scene.rtcPeers.peer(peers + 1), await scene.service.leg(legs + 1)];
    const joined = await scene.relay.leg(joins + 1);
    if (end === 'delete') assert.equal((await ask(`DELETE ${path}`)).status, '200 OK');
    if (end === 'gone') peer.owner.closed('by itself');
    if (end === 'ended') leg.leg.close('ended');
    assert.deepEqual([joined.leftTimes, peer.isClosed, scene.listener.legCount], [1, true, 0], end);
    assert.equal(leg.goneTimes, end === 'ended' ? 0 : 1, end);
    assert.equal((await ask(`DELETE ${path}`)).status, '404 Not Found');
  }
});
