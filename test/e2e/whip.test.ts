/**
 * The WebRTC resources of the media listener on real sockets, with connections and a clock driven by the test. Source: RFC 9725.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { SessionId } from '../../src/model/ids.ts';
import { legRequestMsMax, legSilenceMsMax } from '../../src/model/limits.ts';
import {
  rtcAddressOfferRateMax,
  rtcAddressRequestRateMax,
  rtcAllOfferRateMax,
  rtcFragmentBytesMax,
  rtcOfferBytesMax,
  rtcOfferRateMax,
  rtcOffersWaitingMax,
  rtcPatchRateMax,
} from '../../src/model/media/rtc-limits.ts';
import { decodeFrameHeader, encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import type { FakeOpenLeg } from '../support/fake-leg-service.ts';
import type { FakeRtcPeer } from '../support/fake-rtc-peers.ts';
import { MediaListenerScene } from '../support/media-listener-scene.ts';
import { plainRequest, readHead, type HttpAnswer } from '../support/media-peer.ts';
import { RawPeer } from '../support/raw-peer.ts';

const endpoint = '/media/v1/whip';
const offer = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\n';
const fragment = 'a=ice-ufrag:ufrag\r\na=ice-pwd:pwd\r\n';

let scene: MediaListenerScene;

beforeEach(async () => {
  scene = new MediaListenerScene();
  await scene.listen();
});
afterEach(() => scene.close());

type Headers = Readonly<Record<string, string>>;

function ask(target: string, headers: Headers, body = ''): Promise<HttpAnswer> {
  const length = { 'Content-Length': String(Buffer.byteLength(body)) };
  return scene.ask(`${plainRequest(target, { ...length, ...headers })}${body}`);
}

const bearer = { Authorization: 'Bearer good-token' };
const sdp = { 'Content-Type': 'application/sdp' };
const trickle = { 'Content-Type': 'application/trickle-ice-sdpfrag' };

function postOffer(headers: Headers = {}, body = offer): Promise<HttpAnswer> {
  return ask(`POST ${endpoint}`, { ...bearer, ...sdp, ...headers }, body);
}

interface Session {
  readonly answer: HttpAnswer;
  readonly path: string;
  readonly etag: string;
  readonly peer: FakeRtcPeer;
  readonly leg: FakeOpenLeg;
}

/** An open session before the client connects. */
async function openSession(): Promise<Session> {
  const [peers, legs] = [scene.rtcPeers.opened.length, scene.service.legs.length];
  const answer = await postOffer();
  assert.equal(answer.status, '201 Created');
  return {
    answer,
    path: answer.headers.get('location') ?? '',
    etag: answer.headers.get('etag') ?? '',
    peer: await scene.rtcPeers.peer(peers + 1),
    leg: await scene.service.leg(legs + 1),
  };
}

async function connectSession(): Promise<Session> {
  const session = await openSession();
  session.peer.owner.connected();
  return session;
}

function patch({ path, etag }: Session, headers: Headers = {}, body = fragment): Promise<HttpAnswer> {
  return ask(`PATCH ${path}`, { ...bearer, ...trickle, 'If-Match': etag, ...headers }, body);
}

/** Asserts problem details with this status and a sentence; RFC 9457. */
function assertProblem(answer: HttpAnswer, status: number, sentence: RegExp): void {
  const { type, title, status: told, detail, ...more } = JSON.parse(answer.body) as Record<string, unknown>;
  assert.deepEqual(
    { type, line: `${String(told)} ${String(title)}`, more },
    { type: 'about:blank', line: answer.status, more: {} },
  );
  assert.equal(told, status);
  assert.match(String(detail), sentence);
  assert.equal(answer.headers.get('content-type'), 'application/problem+json');
  assert.equal(answer.headers.get('connection'), 'close');
}

test('an offer creates a session with its own address, the answer, an entity tag and the ICE servers', async () => {
  const rtc = { corsOrigins: ['*'], iceServers: ['<stun:a.example>; rel="ice-server"', '<turn:b.example>'] };
  await scene.listen({ rtc });
  const { answer, path, etag, peer, leg } = await openSession();
  assert.match(path, /^\/media\/v1\/whip\/[\w-]{24}$/);
  assert.match(etag, /^"[\w-]{12}"$/);
  assert.equal(answer.headers.get('content-type'), 'application/sdp');
  assert.equal(answer.headers.get('link'), rtc.iceServers.join(', '));
  assert.equal(answer.body, 'v=0 the answer');
  assert.deepEqual([peer.offers, peer.address, leg.kind], [[offer], '127.0.0.1', 'device']);
  assert.equal(scene.telemetry.count('media login accepted'), 1);
  assert.equal(scene.listener.legCount, 1);
});

test('a client that awaits 100 Continue receives it and sends its offer', async () => {
  const head = { ...bearer, ...sdp, Expect: '100-continue', 'Content-Length': String(offer.length) };
  const raw = await scene.rawPeer(plainRequest(`POST ${endpoint}`, head));
  const told = 'HTTP/1.1 100 Continue\r\n\r\n';
  assert.equal(await raw.read(told.length), told);
  raw.send(offer);
  assert.match(await raw.readAll(), /^HTTP\/1\.1 201 Created\r\n/);
});

const refusedOffers: readonly (readonly [string, string, Headers, string, number, RegExp])[] = [
  ['no token', 'POST', { Authorization: '' }, offer, 401, /send the token/],
  ['a bad token', 'POST', { Authorization: 'Bearer bad-token' }, offer, 401, /signature/],
  ['another type', 'POST', { 'Content-Type': 'text/plain' }, offer, 415, /application\/sdp/],
  ['what is no SDP', 'POST', {}, 'nonsense', 422, /no SDP/],
  ['a body that is too large', 'POST', {}, 'v=0'.repeat(rtcOfferBytesMax), 413, /65536 bytes/],
  ['GET', 'GET', {}, '', 405, /POST, OPTIONS/],
  ['HEAD and a body', 'PUT', {}, offer, 405, /POST, OPTIONS/],
  ['PATCH', 'PATCH', {}, fragment, 405, /POST, OPTIONS/],
];
for (const [what, method, headers, body, status, sentence] of refusedOffers)
  test(`an offer with ${what} is refused with ${status}, and nothing is opened`, async () => {
    const answer = await ask(`${method} ${endpoint}`, { ...bearer, ...sdp, ...headers }, body);
    assertProblem(answer, status, sentence);
    assert.deepEqual([scene.service.legs.length, scene.rtcPeers.count], [0, 0]);
    if (status === 401) assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    if (status === 405) assert.equal(answer.headers.get('allow'), 'POST, OPTIONS');
    if (status === 415) assert.equal(answer.headers.get('accept-post'), 'application/sdp');
  });

test('a body without a length is refused when it exceeds the limit', async () => {
  const head = plainRequest(`POST ${endpoint}`, { ...bearer, ...sdp, 'Transfer-Encoding': 'chunked' });
  const piece = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
  assertProblem(await scene.ask(`${head}${piece.repeat(5)}0\r\n\r\n`), 413, /65536 bytes/);
});

test('without WebRTC, or at the limit of connections, an offer is answered 503 with Retry-After', async () => {
  scene.rtcPeers.missing = 'no library';
  assertProblem(await postOffer(), 503, /by WebSocket/);
  assert.equal(scene.telemetry.count('media login webrtc'), 1);
  scene.rtcPeers.missing = null;
  scene.rtcPeers.refusal = 'busy';
  const answer = await postOffer();
  assertProblem(answer, 503, /retry after Retry-After/);
  assert.equal(answer.headers.get('retry-after'), '2');
  scene.rtcPeers.refusal = null;
  scene.relay.refusal = 'load';
  assertProblem(await postOffer(), 503, /at capacity/);
  scene.relay.refusal = null;
  scene.service.isOver = true;
  assertProblem(await postOffer(), 401, /has ended/);
  assert.deepEqual([scene.rtcPeers.count, scene.listener.legCount], [0, 0]);
});

test('an offer that fails, and a client that does not connect, are logged', async () => {
  scene.rtcPeers.fault = { status: 503, sentence: 'the connection cannot be made: the port is taken' };
  assertProblem(await postOffer(), 503, /the port is taken/);
  scene.rtcPeers.fault = null;
  for (const trouble of ['unmade', 'flood', undefined] as const)
    (await openSession()).peer.owner.closed(`because of ${trouble}`, trouble);
  assert.deepEqual(
    scene.log.lines.map(({ message, fields }) => [message, fields]),
    [
      ['WebRTC: connection not established', { fault: 'because of unmade' }],
      ['media leg: closed for exceeding a rate limit', { fault: 'because of flood' }],
    ],
  );
});

test('candidates are accepted with the entity tag of the session, also among several', async () => {
  const session = await openSession();
  for (const tag of [session.etag, '*', `"other", ${session.etag}`]) {
    const answer = await patch(session, { 'If-Match': tag });
    assert.deepEqual([answer.status, answer.headers.get('etag')], ['204 No Content', session.etag]);
  }
  assert.deepEqual(session.peer.fragments, [fragment, fragment, fragment]);
});

const refusedPatches: readonly (readonly [string, Headers, string, number, RegExp])[] = [
  ['no token', { Authorization: '' }, fragment, 401, /opened this session/],
  ['another token', { Authorization: 'Bearer other-token' }, fragment, 401, /opened this session/],
  ['another type', sdp, fragment, 415, /trickle-ice-sdpfrag/],
  ['another entity tag', { 'If-Match': '"other"' }, fragment, 412, /ETag/],
  ['a weak entity tag', { 'If-Match': 'W/"other"' }, fragment, 412, /ETag/],
  ['a restart of ICE', { 'If-Match': '*' }, 'a=ice-ufrag:new\r\n', 422, /new offer/],
  ['a body that is too large', {}, 'a'.repeat(rtcFragmentBytesMax + 1), 413, /16384 bytes/],
];
for (const [what, headers, body, status, sentence] of refusedPatches)
  test(`a fragment with ${what} is refused with ${status}, and the session stays`, async () => {
    const session = await openSession();
    assertProblem(await patch(session, headers, body), status, sentence);
    assert.equal((await patch(session)).status, '204 No Content');
  });

test('a fragment needs an entity tag', async () => {
  const { path } = await openSession();
  assertProblem(await ask(`PATCH ${path}`, { ...bearer, ...trickle }, fragment), 428, /If-Match/);
});

test('the methods of a session are PATCH and DELETE, and an unknown session is 404', async () => {
  const { path } = await openSession();
  for (const method of ['GET', 'PUT', 'POST']) {
    const answer = await ask(`${method} ${path}`, bearer);
    assertProblem(answer, 405, /PATCH, DELETE/);
    assert.equal(answer.headers.get('allow'), 'PATCH, DELETE, OPTIONS');
  }
  for (const method of ['PATCH', 'DELETE'])
    assertProblem(await ask(`${method} ${endpoint}/unknown`, { ...bearer, ...trickle }), 404, /new offer/);
});

test('DELETE hangs up and ends the session; without its token it has no effect', async () => {
  const { path, peer, leg } = await connectSession();
  assertProblem(await ask(`DELETE ${path}`, { Authorization: 'Bearer other-token' }), 401, /token/);
  assert.deepEqual(leg.reports, []);
  assert.equal((await ask(`DELETE ${path}`, bearer)).status, '200 OK');
  assert.deepEqual(leg.reports, [{ kind: 'end', reason: 'hangup_device' }]);
  assert.deepEqual([peer.isClosed, leg.goneTimes, scene.listener.legCount], [true, 1, 0]);
  assertProblem(await ask(`DELETE ${path}`, bearer), 404, /has ended/);
});

test('pages of any origin are allowed, unless the settings restrict origins', async () => {
  const origin = { Origin: 'https://app.example' };
  const preflight = await ask(`OPTIONS ${endpoint}`, origin);
  assert.equal(preflight.status, '204 No Content');
  assert.equal(preflight.headers.get('allow'), 'POST, OPTIONS');
  assert.equal(preflight.headers.get('access-control-allow-origin'), '*');
  assert.equal(
    preflight.headers.get('access-control-allow-headers'),
    'Authorization, Content-Type, If-Match',
  );
  assert.equal(preflight.headers.get('access-control-allow-methods'), 'POST, PATCH, DELETE, OPTIONS');
  assert.match(
    (await postOffer(origin)).headers.get('access-control-expose-headers') ?? '',
    /^Location, ETag, Link,/,
  );
  await scene.listen({ rtc: { corsOrigins: ['https://app.example'], iceServers: [] } });
  const own = await postOffer(origin);
  assert.deepEqual(
    [own.headers.get('access-control-allow-origin'), own.headers.get('vary')],
    ['https://app.example', 'Origin'],
  );
  const refused = await postOffer({ Origin: 'https://other.example', Authorization: 'Bearer bad-token' });
  assertProblem(refused, 401, /signature/);
  assert.deepEqual(
    [refused.headers.get('access-control-allow-origin'), refused.headers.get('vary')],
    [undefined, 'Origin'],
  );
});

test('offers beyond the rate of a call are answered 429, without an effect on other calls', async () => {
  for (let i = 0; i < rtcOfferRateMax.burst; i += 1) assert.equal((await postOffer()).status, '201 Created');
  const refused = await postOffer();
  assertProblem(refused, 429, /retry after Retry-After/);
  assert.equal(refused.headers.get('retry-after'), '1');
  const good = scene.service.devices.get('good-token');
  assert.ok(good !== undefined);
  scene.service.devices.set('other-token', { ...good, sessionId: 'another' as typeof good.sessionId });
  assert.equal((await postOffer({ Authorization: 'Bearer other-token' })).status, '201 Created');
  scene.clock.advance(1000);
  assert.equal((await postOffer()).status, '201 Created');
});

/** Status of a request from this address. */
async function statusFrom(localAddress: string, request: string): Promise<string> {
  const raw = await RawPeer.connect(scene.port, localAddress);
  raw.send(request);
  const head = await readHead(raw);
  raw.socket.destroy();
  return head.status;
}

const badOffer = plainRequest(`POST ${endpoint}`, { ...sdp, 'Content-Length': '0' });
const goodOffer = `${plainRequest(`POST ${endpoint}`, { ...bearer, ...sdp, 'Content-Length': String(offer.length) })}${offer}`;

test('offers beyond the rate of an address are answered 429, and refused ones count', async () => {
  const session = await connectSession();
  for (let i = 0; i < rtcAddressOfferRateMax.burst - 1; i += 1)
    assert.equal(await statusFrom('127.0.0.1', badOffer), '401 Unauthorized');
  const refused = await postOffer();
  assertProblem(refused, 429, /from this address: retry after Retry-After/);
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.equal((await patch(session)).status, '204 No Content', 'candidates of a session are still taken');
  assert.equal(await statusFrom('127.0.0.2', goodOffer), '201 Created');
  scene.clock.advance(1000);
  assert.equal((await postOffer()).status, '201 Created');
  assert.equal(session.peer.isClosed, false);
});

test('requests of any kind beyond the rate of an address are answered 429', async () => {
  const { path, peer, leg } = await connectSession();
  const gone = plainRequest('DELETE /media/v1/whip/gone', { 'Content-Length': '0' });
  for (let i = 0; i < rtcAddressRequestRateMax.burst - 1; i += 1)
    assert.equal(await statusFrom('127.0.0.1', gone), '404 Not Found');
  for (const [method, target] of [
    ['DELETE', path],
    ['PATCH', path],
    ['DELETE', '/media/v1/whep/gone'],
    ['POST', '/media/v1/whep?ticket=a'],
    ['OPTIONS', endpoint],
  ])
    assertProblem(await ask(`${method} ${target}`, bearer), 429, /from this address/);
  assert.equal(await statusFrom('127.0.0.2', goodOffer), '201 Created');
  assert.deepEqual([peer.isClosed, leg.reports.length], [false, 0]);
});

test('behind a proxy, with one address for all, requests are not limited by address', async () => {
  await scene.listen({ handshakesPerAddressMax: 0 });
  for (let i = 0; i < rtcAddressOfferRateMax.burst; i += 1) await statusFrom('127.0.0.1', badOffer);
  assert.equal((await postOffer()).status, '201 Created');
});

/** A token of a new call. */
function tokenOfAnother(call: string): string {
  const good = scene.service.devices.get('good-token');
  assert.ok(good !== undefined);
  scene.service.devices.set(call, { ...good, sessionId: call as typeof good.sessionId });
  return call;
}

test('concurrent offers are answered one per turn of the loop, with other work in between', async () => {
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  const answeredIn: number[] = [];
  const open = scene.rtcPeers.open.bind(scene.rtcPeers);
  scene.rtcPeers.open = (...values) => {
    answeredIn.push(turns);
    return open(...values);
  };
  const head = { ...sdp, 'Content-Length': String(offer.length) };
  const raws = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      scene.rawPeer(
        plainRequest(`POST ${endpoint}`, {
          ...head,
          Authorization: `Bearer ${tokenOfAnother(`call-${index}`)}`,
        }),
      ),
    ),
  );
  await scene.service.until(() => scene.service.asked.length === raws.length);
  turn();
  for (const raw of raws) raw.send(offer);
  for (const raw of raws) assert.equal((await readHead(raw)).status, '201 Created');
  isOver = true;
  assert.equal(new Set(answeredIn).size, raws.length, answeredIn.join());
});

test('valid offers beyond the total rate are answered 503 with Retry-After', async () => {
  await scene.listen({ handshakesPerAddressMax: 0 });
  for (let i = 0; i < rtcAllOfferRateMax.burst; i += 1)
    await postOffer({ Authorization: `Bearer ${tokenOfAnother(`call-${i}`)}` });
  const refused = await postOffer();
  assertProblem(refused, 503, /retry after Retry-After/);
  assert.equal(refused.headers.get('retry-after'), '2');
  assert.equal(scene.rtcPeers.opened.length, rtcAllOfferRateMax.burst);
  scene.clock.advance(1000);
  assert.equal((await postOffer()).status, '201 Created');
});

test('fragments beyond the rate of a session are answered 429, and its media continue', async () => {
  const session = await connectSession();
  for (let i = 0; i < rtcPatchRateMax.burst; i += 1) await patch(session);
  assertProblem(await patch(session), 429, /retry after Retry-After/);
  assert.equal(session.peer.fragments.length, rtcPatchRateMax.burst);
  assert.equal(session.peer.isClosed, false);
});

test('a slowly sent offer does not block others, and is replaced by the next one of its call', async () => {
  const head = plainRequest(`POST ${endpoint}`, { ...bearer, ...sdp, 'Content-Length': '100' });
  const slow = await scene.rawPeer(head);
  await scene.service.until(() => scene.service.asked.length === 1);
  assert.equal((await postOffer()).status, '201 Created');
  assert.equal(await slow.readAll(), '');
  const slower = await scene.rawPeer(head);
  await scene.service.until(() => scene.service.asked.length === 3);
  scene.clock.advance(legRequestMsMax);
  assert.equal(await slower.readAll(), '');
});

test('at the limit of pending offers, the oldest is evicted for one of another address', async () => {
  await scene.listen({ handshakesMax: 2 * rtcOffersWaitingMax, handshakesPerAddressMax: 0 });
  const { service } = scene;
  const admission = service.devices.get('good-token');
  assert(admission !== undefined);
  const slow: RawPeer[] = [];
  for (let i = 0; i < rtcOffersWaitingMax; i++) {
    service.devices.set(`token-${i}`, { ...admission, sessionId: `session-${i}` as SessionId });
    const peer = await RawPeer.connect(scene.port, '127.0.4.1');
    const headers = { ...sdp, Authorization: `Bearer token-${i}`, 'Content-Length': '100' };
    peer.send(plainRequest(`POST ${endpoint}`, headers));
    slow.push(peer);
  }
  await service.until(() => service.asked.length === rtcOffersWaitingMax);
  assert.equal((await postOffer()).status, '201 Created');
  assert.equal(await slow[0]?.readAll(), '');
  for (const { socket } of slow) socket.destroy();
});

test('the leg sends frames of the relay by RTP and by the channel of pictures, and counts as connected', async () => {
  const { peer, leg } = await openSession();
  const { frameOutput: output } = await scene.relay.leg();
  const sent: string[] = [];
  const send = async (header: Parameters<typeof encodeFrameHeader>[0]): Promise<void> => {
    output.send(encodeFrameHeader(header), Buffer.of(7), () => sent.push(header.kind));
    await Promise.resolve();
  };
  const video = { kind: 'video', isKeyFrame: true, width: 0, height: 0, timestampMs: 1 } as const;
  await send({ ...video, format: 'h264' });
  assert.deepEqual([peer.sent, sent, leg.reports], [[], ['video'], []], 'it is not connected');
  peer.owner.connected();
  await send({ ...video, format: 'h264' });
  await send({ ...video, format: 'mjpeg' });
  await send({ ...video, format: 'h265' });
  await send({ kind: 'audio', format: 'opus', timestampMs: 2 });
  assert.deepEqual(peer.sent, ['video 07', 'command 2000', 'picture 07', 'audio 07']);
  assert.deepEqual(sent, ['video', 'video', 'audio']);
  peer.sending.forEach((done) => done());
  await Promise.resolve();
  assert.equal(sent.length, 5);
  assert.deepEqual(leg.reports, [{ kind: 'progress', state: 'connected' }]);
});

test('media of the client reaches the relay as frames, and keeps the call alive', async () => {
  const { peer, leg } = await connectSession();
  const joined = await scene.relay.leg();
  peer.owner.video(Uint8Array.of(0, 0, 0, 1, 0x65), true, 40);
  peer.owner.audio('opus', Uint8Array.of(9), 60);
  assert.deepEqual(
    joined.frames.map(({ header, payload }) => [header, payload.length]),
    [
      [{ kind: 'video', format: 'h264', isKeyFrame: true, width: 0, height: 0, timestampMs: 40 }, 5],
      [{ kind: 'audio', format: 'opus', timestampMs: 60 }, 1],
    ],
  );
  const [{ header, headerBytes } = assert.fail()] = joined.frames;
  assert.deepEqual(decodeFrameHeader(Buffer.concat([headerBytes, Buffer.of(1)])), {
    ok: true,
    value: header,
  });
  scene.clock.advance(legSilenceMsMax / 2);
  await scene.service.until(() => leg.signs.length === 3);
  assert.deepEqual(leg.signs, ['media', 'media', 'ping']);
});

test('a client that only sends counts as connected once there is a bridge', async () => {
  scene.rtcPeers.agreed = { ...scene.rtcPeers.agreed, audioDown: null, videoDown: false, pictures: false };
  const { peer, leg } = await connectSession();
  const send = (): void => peer.owner.audio('opus', Uint8Array.of(9), 60);
  send();
  assert.deepEqual(leg.reports, []);
  await scene.startBridge();
  send();
  send();
  assert.deepEqual(leg.reports, [{ kind: 'progress', state: 'connected' }]);
});

test('key frames are requested in both directions', async () => {
  const { peer } = await connectSession();
  const joined = await scene.relay.leg();
  peer.owner.keyFrameWanted();
  joined.frameOutput.askKeyFrame();
  assert.deepEqual([joined.keyFramesWanted, peer.keyFramesAsked], [1, 1]);
});

test('commands notify the client that the call is connected or ended, and let it hang up', async () => {
  const { peer, leg } = await connectSession();
  const { sessionId } = scene.service;
  leg.leg.notify({ kind: 'state', sessionId, state: 'ringing', reason: null });
  leg.leg.notify({ kind: 'state', sessionId, state: 'connected', reason: null });
  peer.owner.command(0x1234);
  peer.owner.command(0x2001);
  assert.deepEqual([peer.sent, leg.reports], [['command 2000'], [{ kind: 'end', reason: 'hangup_device' }]]);
  const other = await connectSession();
  other.leg.leg.notify({ kind: 'state', sessionId, state: 'ended', reason: 'hangup_phone' });
  other.leg.leg.close('ended');
  assert.deepEqual([other.peer.sent, other.peer.isClosed], [['command 2001'], true]);
  assertProblem(await patch(other), 404, /has ended/);
});

test('a client without or with a lost connection ends, and may reconnect', async () => {
  const { leg, peer, path } = await openSession();
  peer.owner.closed('it did not connect in time');
  assert.deepEqual([leg.goneTimes, scene.listener.legCount, leg.reports], [1, 0, []]);
  assertProblem(await ask(`DELETE ${path}`, bearer), 404, /new offer/);
  const again = await connectSession();
  again.peer.owner.closed('no consent');
  assert.deepEqual([again.leg.goneTimes, again.leg.reports], [1, []]);
});

test('a drain waits for the legs of the listener', async () => {
  const { leg, peer } = await connectSession();
  let isDrained = false;
  const drained = scene.listener.drain().then(() => (isDrained = true));
  await new Promise(setImmediate);
  assert.equal(isDrained, false);
  leg.leg.close('drain');
  await drained;
  assert.equal(peer.isClosed, true);
});

test('an offer for a call at another media process is redirected', async () => {
  scene.service.refusals.set('good-token', { mediaUrl: 'wss://media-2.example' });
  const answer = await postOffer({ Origin: 'https://page.example' });
  assert.equal(answer.status, '307 Temporary Redirect');
  assert.equal(answer.headers.get('location'), `https://media-2.example${endpoint}`);
  assert.equal(answer.headers.get('access-control-allow-origin'), '*');
});
