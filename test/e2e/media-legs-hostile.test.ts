/**
 * Peers that mean harm at the media listener, of every kind we could think of, beside good legs: none of the good ones
 * is lost, every frame is seen, every ping answered and every word understood. Source: calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { generateTokenId } from '../../src/model/ids.ts';
import { legSilenceMsMax } from '../../src/model/limits.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import type { FakeOpenLeg } from '../support/fake-leg-service.ts';
import { until } from '../support/event-loop.ts';
import { MediaListenerScene } from '../support/media-listener-scene.ts';
import { downlinkPath, legUpgrade, type MediaPeer, plainRequest, readHead } from '../support/media-peer.ts';
import type { RawPeer } from '../support/raw-peer.ts';
import { encodeFrame, opcodes } from '../support/signal-peer.ts';

const goodLegs = 30;
const hostilesOfAKind = 20;

const scene = new MediaListenerScene();
const { clock, service, relay, telemetry } = scene;
const timers: NodeJS.Timeout[] = [];

afterEach(() => {
  timers.splice(0).forEach(clearInterval);
  scene.close();
});

const hostileToken = { Authorization: 'Bearer hostile-token' };
const nonsense = encodeFrame('nonsense');
const audioHeader = encodeFrameHeader({ kind: 'audio', format: 'alaw', timestampMs: 20 });
const goodFrame = Buffer.concat([audioHeader, Buffer.alloc(160, 0xd5)]);
const ping = encodeFrame('x'.repeat(125), { opcode: opcodes.ping });
const hugeHead = Buffer.from('82ff00000000ffffffff01020304', 'hex');

/** Each kind does its worst on a connection of its own, and says whether it is upgraded before. */
const kinds: readonly (readonly [string, 'upgraded' | 'plain', (raw: RawPeer, i: number) => void])[] = [
  ['answers nothing', 'upgraded', () => undefined],
  ['sends garbage', 'upgraded', (raw, i) => raw.send(Buffer.alloc(300, i * 7 + 1))],
  ['announces a huge frame', 'upgraded', (raw) => raw.send(hugeHead)],
  [
    'sends a message that is too large',
    'upgraded',
    (raw) => raw.send(encodeFrame(Buffer.alloc(1_100_000), { opcode: opcodes.binary })),
  ],
  [
    'never ends its message',
    'upgraded',
    (raw) => {
      raw.send(encodeFrame('{', { fin: false }));
      for (let i = 0; i < 3000; i++) raw.send(encodeFrame('x'.repeat(1000), { opcode: 0, fin: false }));
    },
  ],
  ['speaks nonsense without end', 'upgraded', (raw) => raw.send(Buffer.concat(Array(1000).fill(nonsense)))],
  [
    'frames nonsense without end',
    'upgraded',
    (raw, i) => {
      const frame = encodeFrame(Buffer.alloc(i, i), { opcode: opcodes.binary });
      raw.send(Buffer.concat(Array(1000).fill(frame)));
    },
  ],
  [
    'sends frames without end, and does not read',
    'upgraded',
    (raw) => {
      raw.socket.pause();
      raw.send(Buffer.concat(Array(1000).fill(encodeFrame(goodFrame, { opcode: opcodes.binary }))));
    },
  ],
  [
    'accepts a thousand times',
    'upgraded',
    (raw) => raw.send(Buffer.concat(Array(1000).fill(encodeFrame('{"type":"accept"}')))),
  ],
  [
    'pings without end, and does not read',
    'upgraded',
    (raw) => {
      raw.socket.pause();
      raw.send(Buffer.concat(Array(2000).fill(ping)));
    },
  ],
  ['breaks off within a frame', 'upgraded', (raw) => raw.socket.end(nonsense.subarray(0, 3))],
  [
    'resets within a frame',
    'upgraded',
    (raw) => raw.socket.write(hugeHead.subarray(0, 3), () => raw.socket.resetAndDestroy()),
  ],
  ['asks twice at once', 'plain', (raw) => raw.send(legUpgrade(hostileToken).repeat(2))],
  [
    'asks for an upgrade behind another request',
    'plain',
    (raw) => raw.send(plainRequest(`GET ${downlinkPath}`, hostileToken) + legUpgrade(hostileToken)),
  ],
  [
    'takes pictures, and brings along a body without end',
    'plain',
    (raw) => {
      raw.send(plainRequest(`GET ${downlinkPath}`, { ...hostileToken, 'Transfer-Encoding': 'chunked' }));
      timers.push(setInterval(() => raw.send(`1000\r\n${'x'.repeat(0x1000)}\r\n`), 300));
    },
  ],
  ['asks for half an upgrade', 'plain', (raw) => raw.send(legUpgrade().slice(0, -2))],
  ['asks nothing', 'plain', () => undefined],
  ['speaks another protocol', 'plain', (raw) => raw.send('RVL1 VEVTVA fixed 5 1 x\n\r\n\r\n')],
  [
    'drips its headers',
    'plain',
    (raw) => {
      raw.send('GET /media/v1/device HTTP/1.1\r\nX: ');
      timers.push(setInterval(() => raw.send('x'), 300));
    },
  ],
  ['shows nothing', 'plain', (raw) => raw.send(legUpgrade({ Authorization: null }))],
  [
    'shows a header of 10 000 bytes',
    'plain',
    (raw) => raw.send(legUpgrade({ Authorization: `Bearer ${'x'.repeat(10_000)}` })),
  ],
  ['sends headers without end', 'plain', (raw) => raw.send(`GET / HTTP/1.1\r\nX: ${'x'.repeat(100_000)}`)],
  ['guesses a token', 'plain', (raw, i) => raw.send(legUpgrade({ Authorization: `Bearer guess-${i}` }))],
  [
    'guesses tickets, one behind the other',
    'plain',
    (raw, i) => {
      for (let guess = 0; guess < 20; guess++)
        raw.send(plainRequest(`GET ${downlinkPath}?ticket=${i}-${guess}`));
    },
  ],
  [
    'asks, and hangs up at once',
    'plain',
    (raw) => {
      raw.send(legUpgrade(hostileToken));
      setImmediate(() => raw.socket.resetAndDestroy());
    },
  ],
];

async function hostile([, stage, worst]: (typeof kinds)[number], i: number): Promise<RawPeer> {
  const raw = await scene.rawPeer();
  raw.socket.on('error', () => undefined);
  if (stage === 'upgraded') {
    raw.send(legUpgrade(hostileToken));
    assert.equal((await readHead(raw)).status, '101 Switching Protocols');
  }
  worst(raw, i);
  return raw;
}

async function goodLeg(i: number): Promise<{ readonly peer: MediaPeer; readonly deps: FakeOpenLeg }> {
  const peer = await scene.connect();
  return { peer, deps: await service.leg(i + 1) };
}

test('hostile peers of every kind cost no good leg, no frame, no ping and no word', async () => {
  await scene.listen();
  const { listener } = scene;
  const admission = service.devices.get('good-token');
  assert(admission !== undefined);
  service.devices.set('hostile-token', { ...admission, tokenId: generateTokenId() });
  const legs: Awaited<ReturnType<typeof goodLeg>>[] = [];
  for (let i = 0; i < goodLegs; i++) legs.push(await goodLeg(i));
  let heartbeats = 0;
  const heartbeat = async (): Promise<void> => {
    heartbeats += 1;
    await Promise.all(
      legs.map(({ peer }) => {
        peer.send(goodFrame);
        peer.send('{"type":"accept"}');
        return peer.ping();
      }),
    );
    for (const [i, { deps }] of legs.entries()) {
      assert.equal(deps.reports.length, heartbeats);
      assert.equal(relay.joined[i]?.frames.length, heartbeats);
      assert.deepEqual(deps.signs.slice(-2), ['media', 'ping']);
      assert.equal(deps.signs.length, 2 * heartbeats);
    }
  };

  const hostiles: RawPeer[] = [];
  for (const kind of kinds) {
    const ofAKind = Array.from({ length: hostilesOfAKind }, (_, i) => hostile(kind, i));
    hostiles.push(...(await Promise.all(ofAKind)));
    await heartbeat();
    clock.advance(500);
  }
  // Those that read nothing hear of their end only when they do; the others wait for the listener's deadlines.
  for (const { socket } of hostiles) socket.resume();
  for (let waitedMs = 0; waitedMs <= legSilenceMsMax; waitedMs += legSilenceMsMax / 2) {
    clock.advance(legSilenceMsMax / 2);
    await heartbeat();
  }
  await Promise.all(hostiles.map(({ gone }) => gone));
  await until(() => listener.legCount === goodLegs);
  await heartbeat();
  assert.ok(service.legs.length > goodLegs);
  for (const [i, { goneTimes }] of service.legs.entries()) assert.equal(goneTimes, i < goodLegs ? 0 : 1);
  for (const refusal of ['malformed', 'signature'])
    assert.ok(telemetry.count(`media login ${refusal}`) >= hostilesOfAKind, refusal);

  for (const { peer } of legs) peer.socket.close();
  for (const { socket } of hostiles) socket.destroy();
  await until(() => listener.socketCount === 0);
});
