/**
 * The signal listener on real sockets, with a core of test size behind it and a clock that the tests drive.
 * Source: signal-wire.md.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { readOpenFilesLimit } from '../../src/lib/open-files-limit.ts';
import {
  SignalController,
  type SignalControllerOptions,
} from '../../src/tools/simulator/signal-controller.ts';
import {
  descriptorsReserved,
  signalHandshakePingsMax,
  signalMessagesBurstMax,
  controllerReportsBurstMax,
} from '../../src/model/limits.ts';
import { signalPiecesMax } from '../../src/model/signal.ts';
import type { SignalListener } from '../../src/gateways/signal/listener.ts';
import type { SignalSettings } from '../../src/gateways/signal/settings.ts';
import { makeSignalListener } from '../support/signal-listener.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeSignalSessions } from '../support/fake-device-sessions.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { RawPeer } from '../support/raw-peer.ts';
import {
  dismissal,
  encodeFrame,
  loginText,
  opcodes,
  SignalPeer,
  upgradeRequest,
} from '../support/signal-peer.ts';
import { until } from '../support/event-loop.ts';

let clock: DrivenClock;
let sessions: FakeSignalSessions;
let telemetry: FakeTelemetry;
let log: FakeLog;
let listener: SignalListener;
let port: number;
let otherSockets: number;
const sockets: RawPeer[] = [];
const controllers: SignalController[] = [];

beforeEach(() => {
  clock = new DrivenClock();
  sessions = new FakeSignalSessions();
  telemetry = new FakeTelemetry();
  log = new FakeLog();
  otherSockets = 0;
});

afterEach(() => {
  listener.close();
  for (const { socket } of sockets.splice(0)) socket.destroy();
  for (const controller of controllers.splice(0)) void controller.terminate();
});

async function listen(settings: Partial<SignalSettings> = {}): Promise<void> {
  listener = makeSignalListener(
    {
      clock,
      sessions,
      telemetry,
      log,
      sleepServers: () => ['192.0.2.1:8081', 'sleep.example:8081'],
      mediaUrl: () => 'wss://media.example:8083',
      otherSockets: () => otherSockets,
    },
    settings,
  );
  await listener.listen();
  port = listener.address.port;
}

async function rawPeer(localAddress?: string): Promise<RawPeer> {
  const peer = await RawPeer.connect(port, localAddress);
  sockets.push(peer);
  return peer;
}

/** Upgraded, with the challenge unread. */
async function peer(localAddress?: string): Promise<SignalPeer> {
  const peer = new SignalPeer(await rawPeer(localAddress));
  await peer.upgrade();
  return peer;
}

/** Upgraded and logged in. */
async function onlinePeer(): Promise<SignalPeer> {
  const online = await peer();
  await online.logIn();
  return online;
}

async function controller(options: Partial<SignalControllerOptions> = {}): Promise<SignalController> {
  const url = `ws://127.0.0.1:${port}`;
  const made = await SignalController.connect({
    url,
    deviceId: 'TESTDEVICE01',
    secret: 'device-secret',
    ...options,
  });
  controllers.push(made);
  return made;
}

/** Answer to an HTTP request: status line, headers in lower case, body. */
async function answerTo(request: string): Promise<{ status: string; head: string; body: string }> {
  const peer = new SignalPeer(await rawPeer());
  peer.raw.send(request);
  const head = await peer.readHead();
  const status = head.slice('HTTP/1.1 '.length, head.indexOf('\r\n'));
  return { status, head: head.toLowerCase(), body: await peer.raw.readAll() };
}

const nowS = Date.UTC(2026, 10, 20, 8, 30, 0) / 1000;

test('the server sends first: a different challenge of 32 characters for each connection', async () => {
  await listen();
  const [first, second] = [await peer(), await peer()];
  const text = await first.readText();
  assert.match(text, /^\{"type":"challenge","session_key":"[A-Za-z0-9_-]{32}"\}$/);
  assert.notEqual(await second.readText(), text);
});

test('a login is welcomed with all documented fields in order', async () => {
  await listen();
  const online = await peer();
  assert.equal(
    await online.logIn(),
    `{"type":"welcome","epoch":1,"heartbeat_s":30,"server_time":${nowS},` +
      `"sleep":{"servers":["192.0.2.1:8081","sleep.example:8081"],"heartbeat_s":50,"heartbeat_bytes":64,` +
      `"wake_pattern":"983b16f8f39c","wakeup_packet":"983b16f8f39c0000",` +
      `"retry":{"min_s":2,"max_s":300,"jitter":0.5}},"media":{"url":"wss://media.example:8083"}}`,
  );
  assert.equal(telemetry.count('signal login accepted'), 1);
  assert.equal(listener.sessionCount, 1);
  assert.equal(listener.handshakeCount, 0);
});

test('the upgrade echoes the subprotocol and no extension', async () => {
  await listen();
  const offered = {
    'Sec-WebSocket-Protocol': 'chat, reveille.signal.v1,other',
    'Sec-WebSocket-Extensions': 'permessage-deflate; client_max_window_bits',
  };
  const upgrading = new SignalPeer(await rawPeer());
  upgrading.raw.send(upgradeRequest(offered, 'GET /v1/signal/?x=1'));
  const head = (await upgrading.readHead()).toLowerCase();
  assert.match(head, /^http\/1\.1 101 /);
  assert.match(head, /\r\nsec-websocket-protocol: reveille\.signal\.v1\r\n/);
  assert.match(head, /\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk\+xoo=\r\n/);
  assert.doesNotMatch(head, /extensions/);
});

test('an invalid upgrade is answered with the reason, and its connection closed', async () => {
  await listen();
  const plain = { Upgrade: null, 'Sec-WebSocket-Key': null };
  const cases: readonly (readonly [string, string])[] = [
    [upgradeRequest({ 'Sec-WebSocket-Protocol': null }), '400 Bad Request'],
    [upgradeRequest({ 'Sec-WebSocket-Protocol': 'reveille.signal.v2' }), '400 Bad Request'],
    [upgradeRequest({ 'Sec-WebSocket-Protocol': 'Reveille.Signal.V1' }), '400 Bad Request'],
    [upgradeRequest({ 'Sec-WebSocket-Key': 'short' }), '400 Bad Request'],
    [upgradeRequest({}, 'POST /v1/signal'), '400 Bad Request'],
    [upgradeRequest({}, 'GET /v1/signals'), '404 Not Found'],
    [upgradeRequest({}, 'GET /v1/signal//'), '404 Not Found'],
    [upgradeRequest({}, 'GET /'), '404 Not Found'],
    [upgradeRequest(plain, 'GET /'), '404 Not Found'],
    [upgradeRequest(plain), '426 Upgrade Required'],
    [upgradeRequest(plain, 'POST /v1/signal/'), '426 Upgrade Required'],
    [upgradeRequest({ Upgrade: 'h2c' }), '426 Upgrade Required'],
    [upgradeRequest({ 'Sec-WebSocket-Version': '8' }), '426 Upgrade Required'],
  ];
  for (const [request, status] of cases) {
    const answer = await answerTo(request);
    assert.equal(answer.status, status, request);
    assert.match(answer.head, /\r\ncontent-type: text\/plain; charset=utf-8\r\n/);
    assert.match(answer.body, /^[a-z].+\n$/);
  }
  const { head } = await answerTo(upgradeRequest(plain));
  assert.match(head, /\r\nupgrade: websocket\r\n/);
  assert.match(head, /\r\nconnection: upgrade, close\r\n/);
  assert.equal(listener.socketCount, 0);
});

test('an upgrade is accepted in every form that HTTP allows', async () => {
  await listen();
  const requests = [
    upgradeRequest({ Upgrade: 'WebSocket', Connection: 'keep-alive, upgrade' }),
    upgradeRequest({}, 'GET http://127.0.0.1/v1/signal'),
    upgradeRequest({}, 'GET wss://here:8082/v1/signal/?x=1'),
    upgradeRequest().toLowerCase().replace('get /v1/signal http/1.1', 'GET /v1/signal HTTP/1.1'),
    upgradeRequest().replace('Connection: Upgrade', 'CONNECTION:\tUpgrade  '),
    `\r\n${upgradeRequest()}`,
  ];
  for (const request of requests) {
    const upgrading = new SignalPeer(await rawPeer());
    upgrading.raw.send(request.replace('dghlihnhbxbszsbub25jzq==', 'dGhlIHNhbXBsZSBub25jZQ=='));
    assert.match(await upgrading.readHead(), /^HTTP\/1\.1 101 /, request);
  }
});

test('other methods, an expectation and malformed requests are answered, and close the connection', async () => {
  await listen();
  const plain = { Upgrade: null, 'Sec-WebSocket-Key': null };
  const cases: readonly (readonly [string, string])[] = [
    [upgradeRequest(plain, 'OPTIONS /v1/signal'), '426 Upgrade Required'],
    [upgradeRequest(plain, 'OPTIONS *'), '404 Not Found'],
    [upgradeRequest(plain, 'DELETE /v1/signal'), '426 Upgrade Required'],
    [upgradeRequest({ Connection: 'close' }), '400 Bad Request'],
    [
      upgradeRequest({ ...plain, Expect: '100-continue', 'Content-Length': '5' }, 'POST /v1/signal'),
      '426 Upgrade Required',
    ],
    [upgradeRequest({ ...plain, Expect: 'tea' }), '426 Upgrade Required'],
    [upgradeRequest({ 'Content-Length': '2' }, 'POST /'), '404 Not Found'],
    [upgradeRequest({}, 'BREW /v1/signal'), '405 Method Not Allowed'],
    [upgradeRequest({}, 'CONNECT here:80'), '405 Method Not Allowed'],
    ['RVL1 VEVTVA fixed 5 1 x\n\r\n\r\n', '405 Method Not Allowed'],
    ['GET /v1/signal HTTP/1.1\r\nno header\r\n\r\n', '400 Bad Request'],
    ['GET  HTTP/1.1\r\n\r\n', '400 Bad Request'],
    [upgradeRequest({ 'X-Filler': 'x'.repeat(5000) }), '431 Request Header Fields Too Large'],
  ];
  for (const [request, status] of cases) {
    const answer = await answerTo(request);
    assert.equal(answer.status, status, request);
    assert.match(answer.head, /\r\ncontent-type: text\/plain; charset=utf-8\r\n/);
    assert.match(answer.head, new RegExp(`\r\ncontent-length: ${answer.body.length}\r\n`));
    assert.match(answer.head, /\r\nconnection: (upgrade, )?close\r\n/);
  }
  await until(() => listener.socketCount === 0);
});

test('a wrong mac, an unknown device and a mac over another challenge are all answered denied', async () => {
  await listen();
  const [wrong, unknown, replayed, other] = [await peer(), await peer(), await peer(), await peer()];
  wrong.send(loginText(await wrong.readSessionKey(), 'TESTDEVICE01', 'wrong'));
  unknown.send(loginText(await unknown.readSessionKey(), 'nobody'));
  await replayed.readSessionKey();
  replayed.send(loginText(await other.readSessionKey()));
  for (const denied of [wrong, unknown, replayed])
    assert.deepEqual(await denied.readToEnd(), dismissal(4401, 'denied'));
  assert.equal(telemetry.count('signal login denied'), 3);
  assert.deepEqual(sessions.logins, []);
});

const login = loginText('x'.repeat(32));
const malformedBeforeLogin: readonly (readonly [string, Buffer])[] = [
  ['no JSON', encodeFrame('{"type":"login"')],
  ['no object', encodeFrame('["login"]')],
  ['an unknown type', encodeFrame('{"type":"hello"}')],
  ['no type', encodeFrame('{}')],
  ['binary', encodeFrame(login, { opcode: opcodes.binary })],
  ['a heartbeat before the login', encodeFrame('{"type":"heartbeat"}')],
  ['an ack before the login', encodeFrame('{"type":"ack","id":"1"}')],
  ['a report before the login', encodeFrame('{"type":"wake_report","cause":"remote"}')],
  ['an empty message', encodeFrame('')],
];
for (const [name, frame] of malformedBeforeLogin)
  test(`${name} is 4400 before the login`, async () => {
    await listen();
    const stranger = await peer();
    await stranger.readSessionKey();
    stranger.raw.send(frame);
    assert.deepEqual(await stranger.readToEnd(), dismissal(4400, 'malformed'));
    assert.equal(telemetry.count('signal login malformed'), 1);
  });

const malformedInSession: readonly (readonly [string, Buffer])[] = [
  ['no JSON', encodeFrame('heartbeat')],
  ['a second login', encodeFrame(login)],
  ['an unknown type', encodeFrame('{"type":"welcome"}')],
  ['binary', encodeFrame('{"type":"heartbeat"}', { opcode: opcodes.binary })],
  ['an ack of a number', encodeFrame('{"type":"ack","id":1}')],
  ['an unknown cause', encodeFrame('{"type":"wake_report","cause":"curiosity"}')],
];
for (const [name, frame] of malformedInSession)
  test(`${name} is 4400 in a session, which ends as malformed`, async () => {
    await listen();
    const online = await onlinePeer();
    online.raw.send(frame);
    assert.deepEqual(await online.readToEnd(), dismissal(4400, 'malformed'));
    assert.deepEqual(
      sessions.ends.map(({ reason }) => reason),
      ['malformed'],
    );
    assert.equal(telemetry.count('signal end malformed'), 1);
  });

test('16 KiB is accepted, and a byte more is answered 1009', async () => {
  await listen();
  const [stranger, online] = [await peer(), await onlinePeer()];
  await stranger.readSessionKey();
  const padded = `{"type":"heartbeat","x":"${'x'.repeat(16_384 - 27)}"}`;
  assert.equal(padded.length, 16_384);
  online.send(padded);
  assert.equal(await online.readText(), `{"type":"heartbeat_ack","server_time":${nowS}}`);
  for (const talker of [stranger, online]) {
    talker.send(`${padded} `);
    assert.deepEqual(await talker.readToEnd(), dismissal(1009, 'too_large'));
  }
  assert.equal((await sessions.endedSessions())[0]?.reason, 'malformed');
  assert.equal(telemetry.count('signal login malformed'), 1);
});

test('an oversized message is answered 1009 as soon as its length is known, and not buffered', async () => {
  await listen();
  const part = (bytes: number, opcode: number): Buffer =>
    encodeFrame('x'.repeat(bytes), { opcode, fin: false });
  const kinds: readonly (readonly Buffer[])[] = [
    [encodeFrame('x'.repeat(65_536))],
    [part(16_000, opcodes.text), part(1000, opcodes.continuation)],
    // Only the head of a frame of 1 GiB, and of one beyond 2^53 bytes.
    [Buffer.from('81ff0000000040000000', 'hex'), Buffer.from('01020304', 'hex')],
    [Buffer.from('81ff7fffffffffffffff', 'hex')],
  ];
  for (const frames of kinds) {
    const [stranger, online] = [await peer(), await onlinePeer()];
    await stranger.readSessionKey();
    for (const talker of [stranger, online]) {
      for (const frame of frames) talker.raw.send(frame);
      assert.deepEqual(await talker.readToEnd(), dismissal(1009, 'too_large'));
    }
  }
  assert.deepEqual(
    (await sessions.endedSessions(kinds.length)).map(({ reason }) => reason),
    kinds.map(() => 'malformed'),
  );
  assert.equal(telemetry.count('signal login malformed'), kinds.length);
});

test('a message in too many fragments is answered 1008', async () => {
  await listen();
  const online = await onlinePeer();
  const empty = encodeFrame('', { opcode: opcodes.continuation, fin: false });
  online.raw.send(encodeFrame('{', { fin: false }));
  online.raw.send(Buffer.concat(Array.from({ length: signalPiecesMax }, () => empty)));
  assert.deepEqual(await online.readToEnd(), dismissal(1008, 'malformed'));
  assert.equal((await sessions.endedSessions())[0]?.reason, 'malformed');
});

test('frames that violate the protocol are answered bye and the code of RFC 6455, and end the session as malformed', async () => {
  await listen();
  const unmasked = Buffer.from('8100', 'hex');
  const kinds: readonly (readonly [Buffer, number])[] = [
    [encodeFrame(Buffer.from([0xff, 0xfe])), 1007],
    [encodeFrame('{}', { reserved: 0x40 }), 1002],
    [encodeFrame('{}', { opcode: 3 }), 1002],
    [encodeFrame('x', { opcode: opcodes.continuation }), 1002],
    [encodeFrame('x'.repeat(126), { opcode: opcodes.ping }), 1002],
    [encodeFrame(Buffer.from([0x03, 0xed]), { opcode: opcodes.close }), 1002],
    [unmasked, 1002],
  ];
  for (const [frame, code] of kinds) {
    const online = await onlinePeer();
    online.raw.send(frame);
    assert.deepEqual(await online.readToEnd(), dismissal(code, 'malformed'));
  }
  assert.deepEqual(
    (await sessions.endedSessions(kinds.length)).map(({ reason }) => reason),
    kinds.map(() => 'malformed'),
  );
});

test('a message is read the same for every fragmentation of frames and bytes', async () => {
  await listen();
  const online = await onlinePeer();
  const text = Buffer.from('{"type":"heartbeat","x":"ä😀"}');
  const acknowledged = (): string =>
    `{"type":"heartbeat_ack","server_time":${Math.floor(clock.wallMs() / 1000)}}`;
  for (let at = 0; at <= text.length; at++) {
    clock.advance(secondMs);
    online.raw.send(encodeFrame(text.subarray(0, at), { fin: false }));
    online.raw.send(encodeFrame(`p${at}`, { opcode: opcodes.ping }));
    online.raw.send(encodeFrame(text.subarray(at), { opcode: opcodes.continuation }));
    const pong = await online.readFrame();
    assert.deepEqual([pong?.opcode, pong?.payload.toString()], [opcodes.pong, `p${at}`]);
    assert.equal(await online.readText(), acknowledged());
  }
  const frame = encodeFrame(text);
  for (let at = 1; at < frame.length; at++) {
    clock.advance(secondMs);
    online.raw.send(frame.subarray(0, at));
    online.raw.send(encodeNothing);
    online.raw.send(frame.subarray(at));
    assert.equal(await online.readText(), acknowledged());
  }
});
const encodeNothing = Buffer.alloc(0);
/** Advances the clock, so that messages stay within the rate. */
const secondMs = 1000;

test('a connection without a login is closed with 4408 after 10 s, never early', async () => {
  await listen();
  const [silent, accepted] = [await peer(), await onlinePeer()];
  clock.advance(9999);
  assert.equal(telemetry.count('signal login timeout'), 0);
  clock.advance(1001);
  assert.deepEqual((await silent.readToEnd()).close, '4408 timeout');
  assert.equal(telemetry.count('signal login timeout'), 1);
  accepted.send('{"type":"heartbeat"}');
  assert.match(await accepted.readText(), /heartbeat_ack/);
});

test('pings do not extend the login deadline', async () => {
  await listen();
  const pinging = await peer();
  await pinging.readSessionKey();
  clock.advance(9000);
  pinging.raw.send(encodeFrame('x', { opcode: opcodes.ping }));
  assert.equal((await pinging.readFrame())?.opcode, opcodes.pong);
  clock.advance(2000);
  assert.equal((await pinging.readToEnd()).close, '4408 timeout');
});

test('a heartbeat is answered and recorded in whole seconds, and a ping counts as well', async () => {
  await listen();
  const online = await onlinePeer();
  assert.equal(sessions.connection().lastHeartbeatAt, 0, 'a login is not a heartbeat');
  clock.advance(1999);
  online.send('{ "type" : "heartbeat" , "more" : [1] }');
  assert.equal(await online.readText(), `{"type":"heartbeat_ack","server_time":${nowS + 1}}`);
  assert.equal(sessions.connection().lastHeartbeatAt, nowS + 1);
  clock.advance(5000);
  online.raw.send(encodeFrame('hello', { opcode: opcodes.ping }));
  assert.deepEqual(await online.readFrame(), { opcode: opcodes.pong, payload: Buffer.from('hello') });
  assert.equal(sessions.connection().lastHeartbeatAt, nowS + 6);
});

test('a bye of the device ends its session as bye, with close code 1000', async () => {
  await listen();
  const online = await onlinePeer();
  online.send('{"type":"bye","reason":"going to sleep"}');
  assert.equal((await online.readToEnd()).close, '1000 bye');
  assert.deepEqual(
    sessions.ends.map(({ reason }) => reason),
    ['bye'],
  );
});

test('a bye before the login closes without being counted', async () => {
  await listen();
  const stranger = await peer();
  await stranger.readSessionKey();
  stranger.send('{"type":"bye","reason":"wrong number"}');
  assert.equal((await stranger.readToEnd()).close, '1000 bye');
  assert.equal(telemetry.counts.size, 0);
});

const peerEnds: readonly (readonly [string, string, (peer: SignalPeer) => void])[] = [
  [
    'a close frame',
    'peer_closed',
    (peer) => peer.raw.send(encodeFrame(Buffer.from([0x03, 0xe8]), { opcode: 8 })),
  ],
  ['a close frame without a code', 'peer_closed', (peer) => peer.raw.send(encodeFrame('', { opcode: 8 }))],
  [
    'a close frame with a code of its own',
    'peer_closed',
    (peer) => peer.raw.send(encodeFrame(Buffer.from([0x0f, 0xa0]), { opcode: 8 })),
  ],
  ['a FIN', 'peer_closed', (peer) => peer.socket.end()],
  ['an RST', 'reset', (peer) => peer.socket.resetAndDestroy()],
];
for (const [name, reason, act] of peerEnds)
  test(`${name} ends the session as ${reason}`, async () => {
    await listen();
    act(await onlinePeer());
    assert.equal((await sessions.endedSessions())[0]?.reason, reason);
    assert.equal(telemetry.count(`signal end ${reason}`), 1);
    assert.equal(listener.sessionCount, 0);
  });

test('a peer that disconnects before its login is not reported', async () => {
  await listen();
  const stranger = await peer();
  await stranger.readSessionKey();
  stranger.socket.resetAndDestroy();
  await until(() => listener.socketCount === 0);
  assert.equal(telemetry.counts.size, 0);
});

test('a login together with a FIN is a session that ended', async () => {
  await listen();
  const hasty = await peer();
  hasty.socket.end(encodeFrame(loginText(await hasty.readSessionKey())));
  assert.equal((await sessions.endedSessions())[0]?.reason, 'peer_closed');
});

test('with an unreadable registry logins are busy, and logged at most once a second', async () => {
  await listen();
  sessions.failure = new Error('the store is gone');
  for (let i = 0; i < 3; i++) await assert.rejects(controller(), { code: 4503, reason: 'busy' });
  assert.equal(log.lines.filter(({ level }) => level === 'error').length, 1);
  clock.advance(1000);
  await assert.rejects(controller(), { code: 4503 });
  assert.equal(log.lines.filter(({ level }) => level === 'error').length, 2);
  assert.equal(telemetry.count('signal login busy'), 4);
});

test('a full listener is busy except for replacing logins, and has room again after an end', async () => {
  await listen({ max_sessions: 1 });
  sessions.secrets.set('other', 'device-secret');
  await controller();
  await assert.rejects(controller({ deviceId: 'other' }), { code: 4503, reason: 'busy' });
  const newer = await controller();
  await newer.close();
  await sessions.endedSessions();
  await controller({ deviceId: 'other' });
});

test('an upgrade beyond the limit of handshakes is answered 503', async () => {
  await listen({ handshakes_max: 2 });
  const [first] = [await peer('127.0.0.2'), await peer('127.0.0.3')];
  const refused = await answerTo(upgradeRequest());
  assert.equal(refused.status, '503 Service Unavailable');
  assert.match(refused.head, /\r\nretry-after: [1-9]\d*\r\n/);
  assert.equal(telemetry.count('signal login busy'), 1);
  await first.logIn();
  await peer();
});

test('an upgrade beyond the limit of its address is answered 503, and other addresses are admitted', async () => {
  await listen({ handshakes_per_address_max: 2 });
  const held = [await peer('127.0.0.2'), await peer('127.0.0.2')];
  const third = new SignalPeer(await rawPeer('127.0.0.2'));
  third.raw.send(upgradeRequest());
  assert.match(await third.readHead(), /^HTTP\/1\.1 503 /);
  const other = await peer('127.0.0.3');
  assert.match(await other.logIn(), /welcome/);
  held[0]?.socket.destroy();
  await until(() => listener.handshakeCount === 1);
  await peer('127.0.0.2');
});

test('with few free descriptors only replacing logins are admitted, then none', async () => {
  await listen();
  sessions.secrets.set('other', 'device-secret');
  await controller();
  otherSockets = readOpenFilesLimit() - descriptorsReserved - 200;
  await assert.rejects(controller({ deviceId: 'other' }), { code: 4503 });
  await controller();
  otherSockets += 200;
  await assert.rejects(controller(), { code: 503 });
  otherSockets += 300;
  await assert.rejects(controller(), { code: 'ECONNRESET' });
});

test('messages up to the burst are accepted, one more is 4429, and the session ends as flood', async () => {
  await listen();
  const online = await onlinePeer();
  const heartbeat = encodeFrame('{"type":"heartbeat"}');
  online.raw.send(Buffer.concat(Array.from({ length: signalMessagesBurstMax + 1 }, () => heartbeat)));
  const { texts, close } = await online.readToEnd();
  assert.deepEqual(
    texts.slice(0, -1).map((text) => JSON.parse(text).type),
    Array.from({ length: signalMessagesBurstMax }, () => 'heartbeat_ack'),
  );
  assert.deepEqual([texts.at(-1), close], ['{"type":"bye","reason":"flood"}', '4429 flood']);
  assert.equal((await sessions.endedSessions())[0]?.reason, 'flood');
});

test('a flood of frames is read one frame per turn of the loop', async () => {
  await listen();
  sessions.secrets.set('other', 'device-secret');
  const [flooding, other] = [await onlinePeer(), await peer()];
  await other.logIn('other');
  const rejects = Array.from({ length: controllerReportsBurstMax }, (_, n) =>
    encodeFrame(`{"type":"call_reject","session":"session-${n}","reason":"busy"}`),
  );
  const turns: number[] = [];
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn += 1;
    turns.push(sessions.rejections.length);
    if (!isOver) setImmediate(count);
  };
  flooding.raw.send(Buffer.concat(rejects));
  setImmediate(count);
  await until(() => sessions.rejections.length === rejects.length);
  isOver = true;
  for (const [n, seen] of turns.entries()) assert.ok(seen - (turns[n - 1] ?? 0) <= 1, `turn ${n}`);
});

test('wake reports beyond their rate are 4429', async () => {
  await listen();
  const online = await onlinePeer();
  const report = encodeFrame('{"type":"wake_report","cause":"remote"}');
  online.raw.send(Buffer.concat(Array.from({ length: controllerReportsBurstMax + 1 }, () => report)));
  assert.equal((await online.readToEnd()).close, '4429 flood');
  assert.equal(sessions.reports.length, controllerReportsBurstMax);
});

test('a rejection of a call is forwarded, and counts with the wake reports', async () => {
  await listen();
  const online = await onlinePeer();
  const reject = encodeFrame('{"type":"call_reject","session":"session-1","reason":"busy"}');
  const report = encodeFrame('{"type":"wake_report","cause":"remote"}');
  const reports = Array.from({ length: controllerReportsBurstMax - 1 }, () => report);
  online.raw.send(Buffer.concat([reject, ...reports, reject]));
  assert.equal((await online.readToEnd()).close, '4429 flood');
  assert.deepEqual(await sessions.callRejections(), [{ sessionId: 'session-1', reason: 'busy' }]);
});

test('a flood of pings before the login is 4429', async () => {
  await listen();
  const waiting = await peer();
  await waiting.readSessionKey();
  for (let i = 0; i <= signalHandshakePingsMax; i++)
    waiting.raw.send(encodeFrame('', { opcode: opcodes.ping }));
  assert.equal((await waiting.readToEnd()).close, '4429 flood');
  assert.equal(telemetry.count('signal login flood'), 1);
});

test('a peer that ignores its close is cut, and counts until then', async () => {
  await listen();
  const lingering = await peer();
  await lingering.readSessionKey();
  lingering.send('{}');
  assert.equal((await lingering.readToEnd()).close, '4400 malformed');
  assert.equal(listener.socketCount, 1, 'it counts while it may hang on');
  const heartbeat = setInterval(() => lingering.raw.send('still here'), 200);
  await new Promise((closed) => lingering.socket.once('close', closed));
  clearInterval(heartbeat);
  await until(() => listener.socketCount === 0);
});

test('a drain closes sessions at its rate with 4503, and takes no new ones', async () => {
  await listen();
  const names = Array.from({ length: 10 }, (_, i) => `device-${i}`);
  for (const name of names) sessions.secrets.set(name, 'device-secret');
  const online = await Promise.all(names.map((deviceId) => controller({ deviceId })));
  const [underWay, asking] = [await peer(), await rawPeer()];
  await underWay.readSessionKey();
  await until(() => listener.socketCount === 12);
  const left = listener.drain(10, 30_000);
  assert.deepEqual(await underWay.readToEnd(), dismissal(4503, 'draining'));
  asking.send(upgradeRequest());
  assert.match(await asking.readAll(), /^HTTP\/1\.1 503 /);
  await assert.rejects(controller(), { code: 'ECONNREFUSED' });
  clock.advance(500);
  assert.equal(sessions.ends.length, 5);
  clock.advance(500);
  assert.equal(await left, 0);
  assert.deepEqual(
    await Promise.all(online.map(({ closed }) => closed)),
    names.map(() => ({ code: 4503, reason: 'draining' })),
  );
  assert.equal(new Set(sessions.ends.map(({ ticket }) => ticket.deviceId)).size, 10);
  assert.equal(telemetry.count('signal end drain'), 10);
});

test('a close of the listener closes all sockets without reports', async () => {
  await listen();
  const [online, stranger, asking] = [await onlinePeer(), await peer(), await rawPeer()];
  listener.close();
  await Promise.all([online.raw.gone, stranger.raw.gone, asking.gone]);
  assert.deepEqual(sessions.ends, []);
  assert.equal(clock.pendingTimers, 0);
  await assert.rejects(controller(), { code: 'ECONNREFUSED' });
});

test('a port of another server is not shared', async () => {
  await listen();
  const deps = { clock, sessions, telemetry };
  const second = makeSignalListener(deps, { listen: { host: '127.0.0.1', port } });
  await assert.rejects(second.listen(), /in use/);
  second.close();
});
