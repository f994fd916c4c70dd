/**
 * Frames and pictures on real sockets, between peers and a relay of test size. Source: calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { CallSide } from '../../src/model/call.ts';
import { mediaMessageBytesMax } from '../../src/model/limits.ts';
import type { ReservationRefusal } from '../../src/model/media/picture.ts';
import type { MediaListener } from '../../src/media/legs/listener.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import type { DrivenClock } from '../support/driven-clock.ts';
import type { FakeLegService, FakeOpenLeg } from '../support/fake-leg-service.ts';
import type { FakeJoinedLeg } from '../support/fake-relay.ts';
import type { FakeTelemetry } from '../support/fakes.ts';
import { until } from '../support/event-loop.ts';
import { MediaListenerScene } from '../support/media-listener-scene.ts';
import { downlinkPath, legUpgrade, type MediaPeer, plainRequest } from '../support/media-peer.ts';
import type { PictureRequest } from '../support/picture-stream.ts';
import { SignalPeer } from '../support/signal-peer.ts';

let scene: MediaListenerScene;
let clock: DrivenClock;
let service: FakeLegService;
let relay: MediaListenerScene['relay'];
let telemetry: FakeTelemetry;
let listener: MediaListener;

beforeEach(async () => {
  scene = new MediaListenerScene();
  await scene.listen();
  ({ clock, service, relay, telemetry, listener } = scene);
});
afterEach(() => scene.close());

interface CarriedLeg {
  readonly peer: MediaPeer;
  readonly opened: FakeOpenLeg;
  readonly joined: FakeJoinedLeg;
}

/** A leg of a device or a bridge, with frames that the relay carries. */
async function carriedLeg(side: CallSide = 'device'): Promise<CarriedLeg> {
  const count = service.legs.length + 1;
  const peer = await (side === 'bridge' ? scene.startBridge() : scene.connect());
  const opened = await service.leg(count);
  const joined = relay.joined.at(-1);
  assert(joined?.kind === side);
  return { peer, opened, joined };
}

const header = encodeFrameHeader({
  kind: 'video',
  format: 'h264',
  isKeyFrame: false,
  width: 0,
  height: 0,
  timestampMs: 40,
});

/** Bytes without repeated sequences. */
function payloadOf(length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8) * 17 + (i >> 16)) & 0xff));
}

/** Message lengths encoded with 7, 16 or 64 bits, and the maximum. */
const payloadLengths = [1, 113, 114, 4096, 65_523, 65_524, 300_000, mediaMessageBytesMax - header.length];

for (const side of ['device', 'bridge'] as const)
  test(`frames of a ${side} reach the relay unchanged, each in its own memory`, async () => {
    const { peer, opened, joined } = await carriedLeg(side);
    const payloads = payloadLengths.flatMap((length) => [payloadOf(length), payloadOf(160)]);
    for (const payload of payloads) peer.send(Buffer.concat([header, payload]));
    await relay.until(() => joined.frames.length === payloads.length);
    for (const [i, { payload, headerBytes }] of joined.frames.entries()) {
      assert.ok(payloads[i]?.equals(payload));
      assert.ok(header.equals(headerBytes));
      structuredClone(payload, { transfer: [payload.buffer] });
    }
    assert.ok(
      joined.frames.every(({ payload, headerBytes }) => payload.length === 0 && header.equals(headerBytes)),
    );
    assert.deepEqual(new Set(opened.signs), new Set(['media']));
  });

test('the relay sends one unfragmented message for each frame of any length', async () => {
  const raw = await scene.rawPeer(legUpgrade());
  await new SignalPeer(raw).readHead();
  const { frameOutput } = await relay.leg();
  const heads = ['820d', '827d', '827e007e', '827e100c', '827effff', '827f0000000000010000'];
  for (const [i, head] of heads.entries()) {
    const payload = payloadOf(payloadLengths[i] ?? 0);
    await new Promise<void>((sent) => frameOutput.send(header, payload, sent));
    const wire = Buffer.concat([Buffer.from(head, 'hex'), header, payload]);
    assert.equal(await raw.read(wire.length), wire.toString('latin1'));
  }
});

test('a leg receives frames of each length, whose WebSocket headers differ', async () => {
  const { peer, joined } = await carriedLeg();
  const payloads = [13, 125, 126, 65_535, 65_536].map((bytes) => payloadOf(bytes - header.length));
  for (const payload of payloads)
    await new Promise<void>((sent) => joined.frameOutput.send(header, payload, sent));
  await peer.framesCome(payloads.length);
  assert.deepEqual(
    peer.frames,
    payloads.map((payload) => Buffer.concat([header, payload])),
  );
});

/** More than any kernel buffers for a peer that does not read. */
const framesBeyondBuffers = 64;

test('a leg that pauses receives its frames and texts when it reads again', async () => {
  const { peer, opened, joined } = await carriedLeg();
  const [other, payload] = [await carriedLeg(), payloadOf(mediaMessageBytesMax - header.length)];
  peer.socket.pause();
  let sent = 0;
  const sendAll = (): void => {
    if (sent === framesBeyondBuffers) return;
    joined.frameOutput.send(header, payload, () => {
      sent += 1;
      sendAll();
    });
  };
  sendAll();
  for (let words = 0; words < 1000; words++) {
    opened.leg.notify({ kind: 'state', sessionId: service.sessionId, state: 'ringing', reason: null });
    if (words % 100 === 0) await other.peer.ping();
  }
  assert.ok(sent < framesBeyondBuffers, 'it is not sent what it does not read');
  assert.deepEqual([opened.goneTimes, joined.leftTimes], [0, 0]);
  peer.socket.resume();
  await peer.framesCome(framesBeyondBuffers);
  for (let words = 0; words < 1000; words++) assert.notEqual(await peer.nextText(), null);
  assert.ok(peer.frames.every((frame) => frame.length === mediaMessageBytesMax));
});

test('a slow reader with late pongs stays; one that reads nothing for two heartbeats is cut', async () => {
  const { peer, opened, joined } = await carriedLeg();
  peer.socket.pause();
  for (let heartbeat = 0; heartbeat < 3; heartbeat++) {
    await new Promise<void>((sent) => joined.frameOutput.send(header, payloadOf(100), sent));
    clock.advance(8000);
    await new Promise((turned) => setImmediate(turned));
  }
  assert.equal(opened.goneTimes, 0);
  clock.advance(8000);
  await service.until(() => opened.goneTimes === 1);
  assert.equal(joined.leftTimes, 1);
});

const jpegs = [
  Buffer.from('x'),
  Buffer.from('\r\n--reveille-picture\r\nContent-Length: 3\r\n\r\n'),
  payloadOf(65_536),
  payloadOf(300_000),
];
const watching: readonly (readonly [FakeJoinedLeg['kind'], string, PictureRequest])[] = [
  ['device', 'a device without WebSocket', {}],
  [
    'device',
    'a device that asks for an upgrade we do not know',
    { headers: { Connection: 'Upgrade', Upgrade: 'h2c' } },
  ],
  ['output', 'a person who watches', { bearer: null, query: '?ticket=good-ticket' }],
  [
    'output',
    'a person who watches the output',
    { bearer: null, query: '?ticket=good-ticket&picture=output' },
  ],
  [
    'source',
    'a person who watches the source',
    { bearer: null, query: '?picture=source&ticket=good-ticket' },
  ],
];
for (const [kind, who, request] of watching)
  test(`${who} reads every picture as a separate part until the end of the call`, async () => {
    const stream = await scene.watch(request);
    const joined = await relay.leg();
    assert.deepEqual([joined.kind, joined.sessionId], [kind, service.sessionId]);
    for (const jpeg of jpegs) await new Promise<void>((sent) => joined.pictureOutput.sendPicture(jpeg, sent));
    (await service.leg()).leg.close('ended');
    await stream.closed;
    assert.deepEqual(stream.pictures, jpegs);
    assert.deepEqual([stream.isWhole, joined.leftTimes, listener.legCount], [true, 1, 0]);
    await until(() => listener.socketCount === 0);
    assert.equal(clock.pendingTimers, 1, 'the heartbeat');
  });

test('the relay sends its latest picture right after the head of the answer', async () => {
  relay.onJoining = ({ pictureOutput }) => pictureOutput.sendPicture(Buffer.from('first'), () => undefined);
  const stream = await scene.watch();
  await stream.picturesCome(1);
  assert.deepEqual(stream.pictures, [Buffer.from('first')]);
});

/** Sends pictures until they exceed the buffers of any kernel, or the leg pauses; returns their number. */
function flood(joined: FakeJoinedLeg): { readonly sent: number } {
  const jpeg = payloadOf(1024 * 1024);
  const flow = { sent: 0 };
  const next = (): void => {
    if (flow.sent < framesBeyondBuffers && joined.leftTimes === 0)
      joined.pictureOutput.sendPicture(jpeg, () => {
        flow.sent += 1;
        next();
      });
  };
  next();
  return flow;
}

for (const request of [{}, { headers: { Connection: 'Upgrade', Upgrade: 'h2c' } }])
  test(`the next picture waits until a slow reader has read, ${JSON.stringify(request)}`, async () => {
    const stream = await scene.watch(request);
    stream.answer.pause();
    const flow = flood(await relay.leg());
    const other = await carriedLeg();
    for (let pings = 0; pings < 50; pings++) await other.peer.ping();
    assert.ok(flow.sent < framesBeyondBuffers);
    stream.answer.resume();
    await stream.picturesCome(framesBeyondBuffers);
    await until(() => flow.sent === framesBeyondBuffers);
  });

test('a reader that does not read the rest after the end of the call is cut after 5 s', async () => {
  const stream = await scene.watch();
  stream.answer.pause();
  flood(await relay.leg());
  const opened = await service.leg();
  opened.leg.close('ended');
  clock.advance(4999);
  await new Promise((turned) => setImmediate(turned));
  assert.deepEqual([listener.socketCount, listener.legCount], [1, 0]);
  clock.advance(1);
  await until(() => listener.socketCount === 0);
  assert.equal(opened.goneTimes, 0);
});

test('a reader that disconnects leaves the relay', async () => {
  const stream = await scene.watch();
  const [joined, opened] = [await relay.leg(), await service.leg()];
  stream.hangUp();
  await service.until(() => opened.goneTimes === 1);
  assert.equal(joined.leftTimes, 1);
});

const carriedRequests: readonly (readonly [string, string])[] = [
  ['a device', legUpgrade()],
  ['a device without WebSocket', plainRequest(`GET ${downlinkPath}`, { Authorization: 'Bearer good-token' })],
  ['a person who watches', plainRequest(`GET ${downlinkPath}?ticket=good-ticket`)],
];
const refusals: readonly (readonly [ReservationRefusal, RegExp])[] = [
  ['load', /workers are at capacity/],
  ['engine', /no decoder/],
];
for (const [refusal, sentence] of refusals)
  for (const [who, request] of carriedRequests)
    test(`${who} is answered 503 and counted if pictures are unavailable because of ${refusal}`, async () => {
      relay.refusal = refusal;
      relay.joinRefusal = refusal;
      const answer = await scene.ask(request);
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], ['503 Service Unavailable', '2']);
      assert.match(answer.body, sentence);
      assert.deepEqual([...telemetry.counts], [[`media login ${refusal}`, 1]]);
      assert.deepEqual([listener.legCount, service.legs.filter(({ goneTimes }) => goneTimes === 0)], [0, []]);
    });

test('a reader that accepts no bytes for two heartbeats is cut; one that accepts some stays', async () => {
  const stream = await scene.watch();
  stream.answer.pause();
  const opened = await service.leg();
  const joined = await relay.leg();
  const heartbeat = async (): Promise<void> => {
    clock.advance(8000);
    await new Promise((turned) => setImmediate(turned));
  };
  for (let heartbeats = 0; heartbeats < 3; heartbeats++) await heartbeat();
  for (let heartbeats = 0; heartbeats < 3; heartbeats++) {
    await new Promise<void>((sent) => joined.pictureOutput.sendPicture(payloadOf(100), sent));
    await heartbeat();
  }
  const flow = flood(joined);
  let before = -1;
  while (before !== flow.sent) {
    before = flow.sent;
    await new Promise((later) => setTimeout(later, 50));
  }
  assert.equal(opened.goneTimes, 0);
  await heartbeat();
  assert.equal(opened.goneTimes, 0, 'it had one heartbeat of time');
  await heartbeat();
  await service.until(() => opened.goneTimes === 1);
  assert.equal(joined.leftTimes, 1);
});
