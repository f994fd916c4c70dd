/**
 * The media listener on real sockets, with a leg service of test size behind it and a clock that the tests drive.
 * Source: calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';
import type { BridgeId } from '../../src/model/ids.ts';
import { type LegCloseReason, type LegRefusal, legRefusals } from '../../src/model/call.ts';
import {
  handshakeSocketsReserved,
  legAdmissionMsMax,
  legRequestBodyBytesMax,
  legRequestMsMax,
  mediaFragmentsMax,
} from '../../src/model/limits.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import { deferred } from '../../src/lib/deferred.ts';
import { callMedia } from '../support/call-scene.ts';
import type { DrivenClock } from '../support/driven-clock.ts';
import type { FakeLegService } from '../support/fake-leg-service.ts';
import type { FakeTelemetry } from '../support/fakes.ts';
import { until } from '../support/event-loop.ts';
import { MediaListenerScene } from '../support/media-listener-scene.ts';
import {
  bridgePath,
  devicePath,
  downlinkPath,
  legUpgrade,
  type MediaPeer,
  plainRequest,
  readHead,
  type HttpAnswer,
} from '../support/media-peer.ts';
import type { RawPeer } from '../support/raw-peer.ts';
import { encodeFrame, opcodes, SignalPeer } from '../support/signal-peer.ts';

let scene: MediaListenerScene;
let clock: DrivenClock;
let service: FakeLegService;
let telemetry: FakeTelemetry;

beforeEach(async () => {
  scene = new MediaListenerScene();
  ({ clock, service, telemetry } = scene);
  await scene.listen();
});
afterEach(() => scene.close());

function errorOf({ body }: HttpAnswer): string {
  const { error, ...more } = JSON.parse(body) as { readonly error: unknown };
  assert.deepEqual(more, {});
  assert(typeof error === 'string');
  return error;
}

const frame = Buffer.concat([
  encodeFrameHeader({
    kind: 'video',
    format: 'h264',
    isKeyFrame: true,
    width: 640,
    height: 480,
    timestampMs: 0,
  }),
  Buffer.from([0, 0, 0, 1, 0x65]),
]);

test('a device is admitted by its token, reports, and its frames and pings renew its lease', async () => {
  const device = await scene.connect();
  assert.deepEqual([service.asked, telemetry.count('media login accepted')], [['good-token'], 1]);
  const opened = await service.leg();
  assert.equal(opened.kind, 'device');
  device.send('{"type":"accept"}');
  device.send(frame);
  await device.ping();
  device.send('{"type":"hangup","reason":5}');
  await service.until(() => opened.reports.length === 2);
  assert.deepEqual(opened.reports, [
    { kind: 'progress', state: 'attempting' },
    { kind: 'end', reason: 'busy' },
  ]);
  assert.deepEqual(opened.signs, ['media', 'ping']);
  assert.equal(scene.listener.legCount, 1);
});

test('a bridge is admitted by its key, accepts an offered call, receives its start, and reports', async () => {
  const bridge = await scene.connectBridge();
  const opened = await service.leg();
  assert.deepEqual([opened.kind, service.asked], ['bridge', ['good-key']]);
  opened.leg.notify({ kind: 'assign', sessionId: service.sessionId, media: callMedia });
  assert.deepEqual(await bridge.nextMessage(), { type: 'assign', session: service.sessionId });
  bridge.send('{"type":"accept"}');
  await service.until(() => opened.answers.length === 1);
  const room = { msgAppId: 'a', modelId: 'm', roomId: 'r', sessionKey: 'k', sessionToken: 't', payload: '' };
  opened.leg.notify({ kind: 'start', sessionId: service.sessionId, room, media: callMedia, request: null });
  assert.deepEqual(await bridge.nextMessage(), {
    type: 'start',
    request: null,
    audio: { format: 'alaw', rate: 8000, channels: 1 },
    payload: '',
    room: { app_id: 'a', model_id: 'm', room_id: 'r', session_key: 'k', session_token: 't' },
  });
  bridge.send('{"type":"state","state":"connected"}');
  bridge.send('{"type":"refuse"}');
  await service.until(() => opened.answers.length === 2);
  assert.deepEqual(opened.reports, [{ kind: 'progress', state: 'connected' }]);
  assert.deepEqual(opened.answers, [true, false]);
});

test('bytes sent together with the upgrade are read when the leg is admitted', async () => {
  const release = service.withhold();
  await scene.rawPeer(Buffer.concat([Buffer.from(legUpgrade()), encodeFrame('{"type":"accept"}')]));
  await service.until(() => service.asked.length === 1);
  release();
  const opened = await service.leg();
  await service.until(() => opened.reports.length === 1);
  assert.deepEqual(opened.signs, []);
});

test('messages sent during admission arrive after the upgrade', async () => {
  service.onOpening = (leg) => leg.notify({ kind: 'assign', sessionId: service.sessionId, media: callMedia });
  const bridge = await scene.connectBridge(`${bridgePath}?session=${service.sessionId}`);
  assert.deepEqual(await bridge.nextMessage(), { type: 'assign', session: service.sessionId });
});

test('a bridge may name a session, which is decoded and passed on', async () => {
  await scene.connectBridge(`${bridgePath}/?session=${service.sessionId}&more=1`);
  for (const query of ['?session=a%20%C3%A4+b', '?session=', '?session=%zz'])
    await assert.rejects(scene.connectBridge(`${bridgePath}${query}`), { status: 404 });
  assert.deepEqual(service.asked, [
    `good-key ${service.sessionId}`,
    'good-key a ä b',
    'good-key ',
    'good-key %zz',
  ]);
  assert.equal(telemetry.count('media login unknown_session'), 3);
});

const unauthorized = { Authorization: null };
const twice = { Authorization: 'Bearer good-token\r\nAuthorization: Bearer good-token' };
const longHeader = { 'X-Long': 'x'.repeat(4 * 1024) };
const noLeg: readonly (readonly [string, string, LegRefusal | null])[] = [
  ['what is this?\r\n\r\n', '405 Method Not Allowed', null],
  ['GET / HTTP/9.9\r\n\r\n', '400 Bad Request', null],
  [plainRequest(`GET ${downlinkPath}`, longHeader), '431 Request Header Fields Too Large', null],
  [legUpgrade(longHeader), '431 Request Header Fields Too Large', null],
  [plainRequest('GET /'), '404 Not Found', null],
  [plainRequest('GET /media/v1'), '404 Not Found', null],
  [plainRequest('GET /media/v1/device//'), '404 Not Found', null],
  [plainRequest('GET /media/v1/devices'), '404 Not Found', null],
  [legUpgrade({}, 'GET /v1/signal'), '404 Not Found', null],
  [legUpgrade({}, 'GET /MEDIA/v1/device'), '404 Not Found', null],
  [plainRequest('POST /nowhere'), '404 Not Found', null],
  [plainRequest(`POST ${devicePath}`), '405 Method Not Allowed', null],
  [legUpgrade({}, `POST ${devicePath}`), '405 Method Not Allowed', null],
  [legUpgrade({}, `get ${devicePath}`), '405 Method Not Allowed', null],
  [plainRequest(`DELETE ${bridgePath}`), '405 Method Not Allowed', null],
  [plainRequest(`PUT ${downlinkPath}?ticket=good-ticket`), '405 Method Not Allowed', null],
  [plainRequest(`GET ${devicePath}`), '426 Upgrade Required', null],
  [plainRequest(`GET ${bridgePath}/`), '426 Upgrade Required', null],
  [legUpgrade({ Upgrade: 'h2c' }), '426 Upgrade Required', null],
  [legUpgrade({ Upgrade: null }), '426 Upgrade Required', null],
  [legUpgrade({ 'Sec-WebSocket-Version': '8' }), '426 Upgrade Required', null],
  [legUpgrade({ 'Sec-WebSocket-Key': 'short' }), '400 Bad Request', null],
  [legUpgrade({ 'Sec-WebSocket-Key': null }), '400 Bad Request', null],
  [legUpgrade({}, `GET ${bridgePath}?session=a&session=b`), '400 Bad Request', null],
  [plainRequest(`GET ${downlinkPath}?ticket=a&ticket=a`), '400 Bad Request', null],
  [plainRequest(`GET ${downlinkPath}?ticket=good-ticket&picture=`), '400 Bad Request', null],
  [plainRequest(`GET ${downlinkPath}?ticket=good-ticket&picture=Source`), '400 Bad Request', null],
  [
    plainRequest(`GET ${downlinkPath}?ticket=good-ticket&picture=source&picture=output`),
    '400 Bad Request',
    null,
  ],
  [legUpgrade(unauthorized), '401 Unauthorized', 'malformed'],
  [legUpgrade({ Authorization: 'Bearer' }), '401 Unauthorized', 'malformed'],
  [legUpgrade({ Authorization: 'Bearer a b' }), '401 Unauthorized', 'malformed'],
  [legUpgrade({ Authorization: 'Bearer gööd' }), '401 Unauthorized', 'malformed'],
  [legUpgrade({ Authorization: 'Basic good-token' }), '401 Unauthorized', 'malformed'],
  [legUpgrade({ Authorization: 'good-token' }), '401 Unauthorized', 'malformed'],
  [legUpgrade({ Authorization: `Bearer ${'x'.repeat(1537)}` }), '401 Unauthorized', 'malformed'],
  [legUpgrade(twice), '401 Unauthorized', 'malformed'],
  [legUpgrade({ Authorization: 'Bearer bad-token' }), '401 Unauthorized', 'signature'],
  [legUpgrade(unauthorized, `GET ${bridgePath}`), '401 Unauthorized', 'bridge_key'],
  [legUpgrade({ Authorization: 'Bearer bad-key' }, `GET ${bridgePath}`), '401 Unauthorized', 'bridge_key'],
  [plainRequest(`GET ${downlinkPath}`), '401 Unauthorized', 'malformed'],
  [plainRequest(`GET ${downlinkPath}`, { Expect: '100-continue' }), '401 Unauthorized', 'malformed'],
  [plainRequest(`GET ${downlinkPath}`, { Expect: 'much' }), '401 Unauthorized', 'malformed'],
  [`${plainRequest(`GET ${downlinkPath}`, { 'Content-Length': '4' })}body`, '401 Unauthorized', 'malformed'],
  [legUpgrade(unauthorized, `GET ${downlinkPath}`), '401 Unauthorized', 'malformed'],
  [plainRequest(`GET ${downlinkPath}?ticket=`), '401 Unauthorized', 'ticket'],
  [plainRequest(`GET ${downlinkPath}?ticket=bad`), '401 Unauthorized', 'ticket'],
  [
    plainRequest(`GET ${downlinkPath}`, { Authorization: 'Bearer bad-token' }),
    '401 Unauthorized',
    'signature',
  ],
];
for (const [request, status, counted] of noLeg)
  test(`${status} answers ${request.split('\r\n').slice(0, 8).join(' | ').slice(0, 150)}`, async () => {
    const answer = await scene.ask(request);
    assert.equal(answer.status, status);
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.match(errorOf(answer), /^[a-z].{10,}[^.]$/);
    const { headers } = answer;
    assert.equal(headers.get('www-authenticate'), status.startsWith('401') ? 'Bearer' : undefined);
    assert.equal(headers.get('allow'), status.startsWith('405') ? 'GET' : undefined);
    assert.equal(headers.get('upgrade'), status.startsWith('426') ? 'websocket' : undefined);
    assert.equal(headers.get('connection'), status.startsWith('426') ? 'Upgrade, close' : 'close');
    assert.deepEqual([...telemetry.counts], counted === null ? [] : [[`media login ${counted}`, 1]]);
    assert.deepEqual([service.legs, scene.listener.legCount], [[], 0]);
  });

const statuses: Readonly<Partial<Record<LegRefusal, string>>> = {
  unknown_session: '404 Not Found',
  viewers: '409 Conflict',
  load: '503 Service Unavailable',
  engine: '503 Service Unavailable',
  webrtc: '503 Service Unavailable',
  busy: '503 Service Unavailable',
  unavailable: '503 Service Unavailable',
};
test('every refusal has its own status and sentence, is counted, and shows no token', async () => {
  const sentences = new Set<string>();
  for (const refusal of legRefusals) {
    service.refusals.set('the-secret', refusal);
    const requests = [
      legUpgrade({ Authorization: 'Bearer the-secret' }),
      legUpgrade({ Authorization: 'Bearer the-secret' }, `GET ${bridgePath}`),
      plainRequest(`GET ${downlinkPath}`, { Authorization: 'Bearer the-secret' }),
      plainRequest(`GET ${downlinkPath}?ticket=the-secret`),
    ];
    for (const request of requests) {
      const answer = await scene.ask(request);
      assert.equal(answer.status, statuses[refusal] ?? '401 Unauthorized', refusal);
      assert.equal(answer.headers.get('retry-after'), answer.status.startsWith('503') ? '2' : undefined);
      assert.doesNotMatch(answer.body, /secret/);
      sentences.add(errorOf(answer));
    }
    assert.equal(telemetry.count(`media login ${refusal}`), requests.length);
  }
  assert.equal(sentences.size, legRefusals.length);
  assert.deepEqual(scene.log.lines, []);
});

for (const protocols of ['chat, reveille.media.v1', ', not a list'])
  test(`the upgrade picks no extension, and no subprotocol of "${protocols}"`, async () => {
    const leg = await scene.rawPeer(
      legUpgrade({
        'Sec-WebSocket-Protocol': protocols,
        'Sec-WebSocket-Extensions': 'permessage-deflate',
      }),
    );
    const { status, headers } = await readHead(leg);
    assert.equal(status, '101 Switching Protocols');
    assert.equal(headers.get('sec-websocket-accept'), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    assert.deepEqual(
      [...headers.keys()].filter((name) => name.includes('protocol') || name.includes('extensions')),
      [],
    );
  });

const closes: readonly (readonly [LegCloseReason, string])[] = [
  ['ended', '1000 ended'],
  ['replaced', '4409 replaced'],
  ['revoked', '4401 revoked'],
  ['drain', '4503 draining'],
];
for (const [reason, close] of closes)
  test(`a leg closed by the server as ${reason} reads ${close} after its messages`, async () => {
    const device = await scene.connect();
    const opened = await service.leg();
    opened.leg.notify({ kind: 'state', sessionId: service.sessionId, state: 'ended', reason: 'lost' });
    opened.leg.close(reason);
    assert.deepEqual(await device.nextMessage(), {
      type: 'state',
      session: service.sessionId,
      state: 'ended',
      reason: 'lost',
    });
    assert.equal(await device.closed, close);
    assert.deepEqual([opened.goneTimes, scene.listener.legCount], [0, 0]);
  });

test('a leg whose call ended during admission reads 1000, and is not counted as a login', async () => {
  service.isOver = true;
  const device = await scene.connect();
  assert.equal(await device.closed, '1000 ended');
  const bridge = await scene.connectBridge();
  assert.equal(await bridge.closed, '1000 ended');
  assert.deepEqual([...telemetry.counts], [['media login session_ended', 2]]);
});

const ends: readonly (readonly [string, (peer: MediaPeer) => void])[] = [
  ['a close frame', ({ socket }) => socket.close(1000)],
  ['a close frame of its own code', ({ socket }) => socket.close(4000, 'tired')],
  ['a cut', ({ socket }) => socket.terminate()],
];
for (const [name, end] of ends)
  test(`${name} by the peer is reported to the server once`, async () => {
    const device = await scene.connect();
    const opened = await service.leg();
    end(device);
    await service.until(() => opened.goneTimes > 0);
    await device.closed;
    await until(() => scene.listener.socketCount === 0);
    assert.deepEqual([opened.goneTimes, scene.listener.legCount], [1, 0]);
  });

test('an invalid text is answered with the expected form, and the leg stays', async () => {
  const [device, bridge] = [await scene.connect(), await scene.connectBridge()];
  device.send('{"type":"assign"}');
  bridge.send('{"type":"state","state":"happy"}');
  assert.deepEqual(await device.nextMessage(), {
    type: 'error',
    message: 'the type of a device is accept, reject, hangup or key_frame_wanted',
  });
  assert.deepEqual(await bridge.nextMessage(), {
    type: 'error',
    message: 'the state is ringing, attempting, connected or ended',
  });
  device.send(Buffer.from([7, 1, 0, 0]));
  assert.deepEqual(await device.nextMessage(), {
    type: 'error',
    message: 'a frame is a header of 12 bytes, followed by a payload',
  });
  device.send('{"type":"accept"}');
  const opened = await service.leg();
  await service.until(() => opened.reports.length === 1);
  assert.deepEqual(opened.signs, []);
});

test('1 MiB is accepted, and a byte more is answered 1009', async () => {
  const [device, bridge] = [await scene.connect(), await scene.connectBridge()];
  const message = Buffer.concat([frame, Buffer.alloc(1024 * 1024 + 1 - frame.length)]);
  for (const [i, leg] of [device, bridge].entries()) {
    const opened = await service.leg(i + 1);
    leg.send(message.subarray(0, 1024 * 1024));
    await service.until(() => opened.signs.length === 1);
    leg.send(message);
    assert.equal(await leg.closed, '1009 too_large');
    assert.equal(opened.goneTimes, 1);
  }
});

test('a text over 16 KiB is 1009, and so is a message of any size', async () => {
  const [text, large, larger] = [await scene.connect(), await scene.connect(), await scene.connect()];
  text.send(`{"type":"accept","x":"${'x'.repeat(16 * 1024)}"}`);
  large.send('x'.repeat(1024 * 1024 + 1));
  larger.send(Buffer.alloc(16 * 1024 * 1024));
  for (const leg of [text, large, larger]) assert.equal(await leg.closed, '1009 too_large');
  await service.until(() => service.legs.every(({ goneTimes }) => goneTimes === 1));
});

const broken: readonly (readonly [string, Buffer, string])[] = [
  ['text that is no UTF-8', encodeFrame(Buffer.from([0xff])), '1007'],
  ['a frame with a reserved bit', encodeFrame('{}', { reserved: 0x40 }), '1002'],
  ['a frame without a mask', Buffer.from([0x81, 2, 0x7b, 0x7d]), '1002'],
  ['a message in too many fragments', tooManyFragments(), '1008'],
];
for (const [name, bytes, code] of broken)
  test(`${name} is ${code}, and its leg ends at once`, async () => {
    const leg = new SignalPeer(await scene.rawPeer(legUpgrade()));
    await leg.readHead();
    const opened = await service.leg();
    leg.raw.send(bytes);
    assert.equal((await leg.readToEnd()).close, `${code} `);
    assert.deepEqual([opened.goneTimes, scene.listener.legCount], [1, 0]);
  });

function tooManyFragments(): Buffer {
  const [first, next] = [encodeFrame('', { fin: false }), encodeFrame('x', { opcode: 0, fin: false })];
  return Buffer.concat([first, ...Array<Buffer>(mediaFragmentsMax).fill(next)]);
}

test('a leg that does not read its messages is cut, and others lose nothing', async () => {
  const [unwakeable, other] = [await scene.connect(), await scene.connect()];
  const [opened, second] = [await service.leg(1), await service.leg(2)];
  unwakeable.socket.pause();
  for (let i = 0; opened.goneTimes === 0; i++) {
    opened.leg.notify({ kind: 'state', sessionId: service.sessionId, state: 'ringing', reason: null });
    if (i % 1000 === 0) await new Promise((turned) => setImmediate(turned));
  }
  second.leg.notify({ kind: 'state', sessionId: service.sessionId, state: 'ringing', reason: null });
  assert.notEqual(await other.nextText(), null);
  assert.deepEqual([opened.goneTimes, second.goneTimes], [1, 0]);
});

test('a leg that answers no ping is closed; one that only answers pings stays', async () => {
  const answering = await scene.connect();
  const [dead, quiet] = [await scene.rawPeer(legUpgrade()), await service.leg()];
  assert.equal((await readHead(dead)).status, '101 Switching Protocols');
  const opened = await service.leg(2);
  for (let heartbeat = 0; heartbeat < 2; heartbeat++) {
    const asked = once(answering.socket, 'ping');
    clock.advance(8000);
    await asked;
    // Its pong was sent before the next ping.
    await answering.ping();
  }
  await dead.gone;
  assert.equal(opened.goneTimes, 1);
  assert.equal(answering.socket.readyState, answering.socket.OPEN);
  assert.deepEqual(
    [quiet.goneTimes, quiet.signs, opened.signs],
    [0, ['ping', 'ping'], []],
    'an answer to a ping is no ping',
  );
});

test('a leg in the middle of a large frame is not closed as silent', async () => {
  const leg = new SignalPeer(await scene.rawPeer(legUpgrade()));
  await leg.readHead();
  const [opened, other] = [await service.leg(), await scene.connect()];
  const large = encodeFrame(Buffer.concat([frame, Buffer.alloc(1000)]), { opcode: opcodes.binary });
  for (let at = 0; at < large.length; at += 100) {
    leg.raw.send(large.subarray(at, at + 100));
    // Earlier messages have arrived when this is answered.
    await other.ping();
    clock.advance(8000);
    // Its pong has to wait for the end of the frame.
    assert.equal((await leg.readFrame())?.opcode, opcodes.ping);
  }
  await service.until(() => opened.signs.length === 1);
  assert.deepEqual([opened.signs, opened.goneTimes], [['media'], 0]);
});

test('a device without WebSocket is a leg until the end of its call, which ends the answer', async () => {
  const device = await scene.rawPeer(
    plainRequest(`GET ${downlinkPath}/`, { Authorization: 'Bearer good-token' }),
  );
  const { status, headers } = await readHead(device);
  assert.equal(status, '200 OK');
  assert.equal(headers.get('content-type'), 'multipart/x-mixed-replace; boundary=reveille-picture');
  assert.equal(headers.get('cache-control'), 'no-store');
  const opened = await service.leg();
  assert.deepEqual([opened.kind, scene.listener.legCount], ['device', 1]);
  assert.equal(telemetry.count('media login accepted'), 1);
  opened.leg.notify({ kind: 'state', sessionId: service.sessionId, state: 'ended', reason: 'lost' });
  opened.leg.close('ended');
  opened.leg.close('drain');
  const body = '12\r\n--reveille-picture\r\n4\r\n--\r\n\r\n0\r\n\r\n';
  assert.equal(await device.read(body.length), body);
  assert.equal(headers.get('connection'), 'close');
  device.socket.end();
  await until(() => scene.listener.socketCount === 0);
  assert.deepEqual([opened.goneTimes, scene.listener.legCount], [0, 0]);
});

test('a leg waits for the engine to load, and one whose peer hangs up meanwhile consumes no credential', async () => {
  const loaded = deferred();
  scene.loaded = loaded.promise;
  await scene.listen();
  const impatient = await scene.rawPeer(plainRequest(`GET ${downlinkPath}?ticket=good-ticket`));
  const patient = scene.connect();
  await until(() => scene.listener.socketCount === 2);
  impatient.socket.end();
  await until(() => scene.listener.socketCount === 1);
  assert.deepEqual(service.asked, []);
  loaded.resolve();
  await patient;
  assert.deepEqual([service.asked, telemetry.count('media login accepted')], [['good-token'], 1]);
});

const inTheMiddle: readonly (readonly [string, (peer: RawPeer) => void])[] = [
  ['hangs up', ({ socket }) => socket.end()],
  ['breaks off', ({ socket }) => socket.resetAndDestroy()],
  ['asks again', (peer) => peer.send(legUpgrade())],
  ['sends a frame too early', (peer) => peer.send(Buffer.from([0x81, 0x80, 1, 2, 3, 4]))],
];
const checked = [
  legUpgrade(),
  legUpgrade({ Authorization: 'Bearer good-key' }, `GET ${bridgePath}`),
  plainRequest(`GET ${downlinkPath}`, { Authorization: 'Bearer good-token' }),
  plainRequest(`GET ${downlinkPath}?ticket=good-ticket`),
];
for (const [name, act] of inTheMiddle)
  test(`a peer that ${name} during its admission is not admitted, and not counted`, async () => {
    for (const [i, request] of checked.entries()) {
      const release = service.withhold();
      const peer = await scene.rawPeer(request);
      await service.until(() => service.asked.length === i + 1);
      act(peer);
      await until(() => scene.listener.socketCount === 0);
      release();
      await service.held;
    }
    // Later peers are admitted after their answers.
    await scene.connect();
    assert.deepEqual([...telemetry.counts], [['media login accepted', 1]]);
    assert.deepEqual([service.legs.length, scene.listener.legCount], [1, 1]);
  });

test('a server without an answer within 5 s is unavailable, logged once, and its late answer is ignored', async () => {
  const release = service.withhold();
  const answers = checked.map((request) => scene.ask(request));
  await service.until(() => service.asked.length === checked.length);
  clock.advance(4999);
  assert.equal(telemetry.counts.size, 0);
  clock.advance(1);
  for (const { status } of await Promise.all(answers)) assert.equal(status, '503 Service Unavailable');
  release();
  await scene.connect();
  assert.equal(telemetry.count('media login unavailable'), 4);
  assert.equal(service.legs.length, 1);
  assert.equal(scene.log.lines.filter(({ level }) => level === 'error').length, 1);
});

test('admissions beyond the limit are refused as busy without a request to the server', async () => {
  await scene.listen({ handshakesMax: 2 });
  const release = service.withhold();
  const held = [await scene.rawPeer(legUpgrade()), await scene.rawPeer(legUpgrade())];
  await service.until(() => service.asked.length === 2);
  // Pending requests for closed peers still count.
  for (const peer of held) peer.socket.resetAndDestroy();
  await until(() => scene.listener.socketCount === 0);
  const refused = await scene.ask(legUpgrade());
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], ['503 Service Unavailable', '2']);
  assert.equal(service.asked.length, 2);
  release();
  await scene.connect();
  assert.equal(telemetry.count('media login busy'), 1);
});

test('a full listener is busy for everyone, and has room again after an end', async () => {
  await scene.listen({ legsMax: 2 });
  const device = await scene.connect();
  const watching = await scene.rawPeer(plainRequest(`GET ${downlinkPath}?ticket=good-ticket`));
  assert.equal((await readHead(watching)).status, '200 OK');
  for (const request of checked) assert.equal((await scene.ask(request)).status, '503 Service Unavailable');
  assert.equal(telemetry.count('media login busy'), checked.length);
  device.socket.terminate();
  await service.until(() => service.legs[0]?.goneTimes === 1);
  await scene.connectBridge();
});

/** Idle bridges, each with its own key, all from 127.0.0.1. */
async function connectIdle(bridgeId: string, count: number): Promise<MediaPeer[]> {
  service.bridges.set(bridgeId, { bridgeId: bridgeId as BridgeId, keySha256: 'e'.repeat(64) });
  const peers: MediaPeer[] = [];
  for (let i = 0; i < count; i++) peers.push(await scene.connect({ path: bridgePath, bearer: bridgeId }));
  return peers;
}

test('one bridge may have two fifths of the legs, and so may the devices of one application', async () => {
  await scene.listen({ legsMax: 10 });
  await connectIdle('greedy', 4);
  await assert.rejects(connectIdle('greedy', 1), { status: 503 });
  for (let i = 0; i < 4; i++) await scene.connect();
  await assert.rejects(scene.connect(), { status: 503 });
  await connectIdle('other', 2);
  assert.equal(scene.listener.legCount, 10);
});

test('when legs run out, the oldest idle bridge of the key with the most is closed, but none with a call', async () => {
  await scene.listen({ legsMax: 10 });
  const inCall = await scene.startBridge();
  const other = await connectIdle('other', 1);
  const mine = await connectIdle('mine', 4);
  const greedy = await connectIdle('greedy', 4);
  assert.equal(scene.listener.legCount, 10);
  await assert.rejects(connectIdle('greedy', 1), { status: 503 });
  const device = await scene.connect();
  assert.equal(await mine[0]?.closed, '4503 busy');
  const newcomers = await connectIdle('newcomer', 1);
  assert.equal(await greedy[0]?.closed, '4503 busy');
  const staying = [inCall, device, ...other, ...newcomers, ...mine.slice(1), ...greedy.slice(1)];
  await Promise.all(staying.map((peer) => peer.ping()));
  assert.equal(scene.listener.legCount, 10);
  await connectIdle('newcomer', 1);
  await assert.rejects(connectIdle('newcomer', 1), { status: 503 }, 'of equals none yields');
});

test('the last place is assigned once, even with several pending admissions', async () => {
  await scene.listen({ legsMax: 1 });
  const release = service.withhold();
  const outcomes = [1, 2, 3].map(() => scene.connect().then(() => 'in', String));
  await service.until(() => service.asked.length === 3);
  release();
  assert.deepEqual((await Promise.all(outcomes)).sort(), [
    'Error: refused with 503',
    'Error: refused with 503',
    'in',
  ]);
  assert.equal(service.legs.length, 1);
});

test('when descriptors run out, new connections are answered busy, and then closed without an answer', async () => {
  scene.socketsMax = 2;
  await scene.listen({ handshakesMax: 2 * handshakeSocketsReserved });
  await scene.connect();
  await scene.connect();
  await assert.rejects(scene.connect(), { status: 503 });
  for (let spare = 0; spare < handshakeSocketsReserved; spare++) await scene.rawPeer();
  await assert.rejects(scene.connect(), { code: 'ECONNRESET' });
});

test('a leg that ignores its close is counted until it is cut', async () => {
  await scene.listen({ handshakesMax: 1 });
  const lingering = await scene.rawPeer(legUpgrade());
  await readHead(lingering);
  const opened = await service.leg();
  opened.leg.close('ended');
  assert.deepEqual([scene.listener.legCount, scene.listener.socketCount], [0, 1]);
  await scene.connect();
  const heartbeat = setInterval(() => lingering.send(encodeFrame('still here')), 200);
  await new Promise((closed) => lingering.socket.once('close', closed));
  clearInterval(heartbeat);
  await until(() => scene.listener.socketCount === 1);
  assert.deepEqual([opened.goneTimes, scene.listener.legCount], [0, 1]);
});

test('a drain accepts no new legs, and leaves existing ones to the server', async () => {
  const device = await scene.connect();
  const [asking, release] = [await scene.rawPeer(), service.withhold()];
  const checking = scene.ask(legUpgrade());
  await service.until(() => service.asked.length === 2);
  await until(() => scene.listener.socketCount === 3);
  scene.listener.drain();
  await assert.rejects(scene.connect(), { code: 'ECONNREFUSED' });
  asking.send(legUpgrade());
  assert.match(await asking.readAll(), /^HTTP\/1\.1 503 /);
  release();
  assert.equal((await checking).status, '503 Service Unavailable');
  await device.ping();
  (await service.leg()).leg.close('drain');
  assert.equal(await device.closed, '4503 draining');
  assert.equal(scene.listener.address.port, 0);
});

test('a close of the listener closes all sockets without reports, and frees the port', async () => {
  const [device, bridge] = [await scene.connect(), await scene.connectBridge()];
  const watching = await scene.rawPeer(plainRequest(`GET ${downlinkPath}?ticket=good-ticket`));
  await readHead(watching);
  const [asking, release] = [await scene.rawPeer(), service.withhold()];
  const checking = await scene.rawPeer(legUpgrade());
  await service.until(() => service.asked.length === 4);
  scene.listener.close();
  assert.deepEqual(await Promise.all([device.closed, bridge.closed]), ['1006', '1006']);
  await Promise.all([watching.gone, asking.gone, checking.gone]);
  release();
  await service.held;
  assert.deepEqual(
    service.legs.map(({ goneTimes }) => goneTimes),
    [0, 0, 0],
  );
  assert.deepEqual([scene.listener.legCount, scene.listener.socketCount], [0, 0]);
  assert.equal(clock.pendingTimers, 1, 'the wait for the answer that nobody waits for any more');
  clock.advance(5000);
  await assert.rejects(scene.connect(), { code: 'ECONNREFUSED' });
});

test('a request in time is kept even if the server answers late', async () => {
  const raw = await scene.rawPeer();
  const release = service.withhold();
  raw.send(legUpgrade());
  await service.until(() => service.asked.length === 1);
  clock.advance(legAdmissionMsMax - 1);
  release();
  await service.leg();
  clock.advance(legRequestMsMax);
  assert.equal((await readHead(raw)).status, '101 Switching Protocols');
});

test('a reader of pictures that sends an endless body is cut', async () => {
  const chunked = { Authorization: 'Bearer good-token', 'Transfer-Encoding': 'chunked' };
  const raw = await scene.rawPeer(plainRequest(`GET ${downlinkPath}`, chunked));
  await service.leg();
  const oneByteChunks = '1\r\nx\r\n'.repeat(legRequestBodyBytesMax + 1);
  raw.send(oneByteChunks);
  await raw.gone;
  await until(() => scene.listener.legCount === 0);
  assert.equal((await service.leg()).goneTimes, 1);
});
