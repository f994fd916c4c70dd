/**
 * A leg that sends as much as its connection carries, at a real server with its media process, is closed, and other calls of the
 * same process continue. Source: calls-and-media.md, The media process.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import type { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import { bridgePath, legUpgrade, readHead } from '../support/media-peer.ts';
import { issueCall } from '../support/call-actions.ts';
import {
  openLegs,
  openMediaScene,
  untouchedFrame,
  untouchedVideo,
  type MediaScene,
} from '../support/media-process-scene.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { encodeFrame, opcodes, SignalPeer } from '../support/signal-peer.ts';
import { lastFirst } from '../support/temporary-store.ts';
import { testBridgeKeys } from '../support/test-server.ts';

/** A leg not closed by then has no limit. */
const floodBytesMax = 256 * 1024 * 1024;
/** Frames of another call during a flood; well below the burst limit of a leg, even on a slow machine. */
const roundsMax = 50;

const t = lastFirst({ after });
let scene: MediaScene;
let device: DeviceLeg;
let bridge: BridgeLeg;
let frameCame: () => void = () => undefined;
before(async () => {
  scene = await openMediaScene(t);
  ({ device, bridge } = await openLegs(scene, {}, () => frameCame()));
});

/** Repeats a frame to nearly 64 KiB. */
function piecesOf(frame: Buffer): Buffer {
  return Buffer.concat(Array<Buffer>(Math.max(1, Math.floor(65_536 / frame.length))).fill(frame));
}

/** Sends until the leg is closed. Resolves with code, reason, and the texts before. */
async function flood(raw: RawPeer, piece: Buffer): Promise<{ close: string; texts: string[] }> {
  const end = { isHere: false };
  const gone = raw.gone.then(() => (end.isHere = true));
  for (let sent = 0; !end.isHere && sent < floodBytesMax; sent += piece.length)
    if (!raw.socket.write(piece)) await Promise.race([gone, once(raw.socket, 'drain').catch(() => gone)]);
  const peer = new SignalPeer(raw);
  const texts: string[] = [];
  for (let frame = await peer.readFrame(); frame !== null; frame = await peer.readFrame()) {
    if (frame.opcode === opcodes.text) texts.push(frame.payload.toString());
    if (frame.opcode !== opcodes.close) continue;
    raw.socket.destroy();
    return { close: `${frame.payload.readUInt16BE()} ${frame.payload.subarray(2).toString()}`, texts };
  }
  return { close: 'none', texts };
}

async function deviceLeg(): Promise<RawPeer> {
  const { token } = await issueCall(scene, {
    ...untouchedVideo,
    device_id: 'SLEEPING01',
    msg_room_id: 'room-2',
  });
  return leg({ Authorization: `Bearer ${token}` });
}

async function leg(headers: Record<string, string>, path?: string): Promise<RawPeer> {
  const raw = await RawPeer.connect(scene.server.ports.media);
  raw.send(legUpgrade(headers, path === undefined ? undefined : `GET ${path}`));
  assert.equal((await readHead(raw)).status, '101 Switching Protocols');
  return raw;
}

const header = { kind: 'video', format: 'h264', isKeyFrame: true, width: 16, height: 16 } as const;
let timestampMs = 0;

/** Asserts that another call continues: it carries another frame, and another ping is answered. */
async function callGoesOn(): Promise<void> {
  timestampMs += 40;
  const came = new Promise<void>((resolve) => (frameCame = resolve));
  bridge.frame(untouchedFrame(timestampMs));
  for (const answer of [came, device.ping()])
    assert.equal(await Promise.race([answer, device.closed]), undefined, 'the call of others was ended');
}

const frames = encodeFrameHeader({ ...header, timestampMs: 0 });
const tooMany = (what: string): RegExp => new RegExp(`a leg sends \\d+ ${what} a second at most`);

const floods: readonly (readonly [string, Buffer, string, RegExp])[] = [
  ['accepts', encodeFrame('{"type":"accept"}'), '4429 too_much', tooMany('texts')],
  ['pings', encodeFrame('', { opcode: opcodes.ping }), '4429 too_much', tooMany('messages')],
  ['pongs', encodeFrame('', { opcode: opcodes.pong }), '4429 too_much', tooMany('messages')],
  [
    'small frames',
    encodeFrame(Buffer.concat([frames, Buffer.of(1)]), { opcode: opcodes.binary }),
    '4429 too_much',
    tooMany('messages'),
  ],
  [
    'empty messages',
    encodeFrame('', { opcode: opcodes.binary }),
    '4400 malformed',
    /a frame is a header of 12 bytes/,
  ],
  ['fragments of one message', encodeFrame('', { opcode: opcodes.continuation, fin: false }), '1008 ', /^/],
];
for (const [what, frame, close, said] of floods)
  test(`only a leg that floods with ${what} is closed`, async () => {
    const raw = await deviceLeg();
    if (what.startsWith('fragments')) raw.send(encodeFrame('', { fin: false }));
    const flooding = flood(raw, piecesOf(frame));
    const end = { isHere: false };
    void flooding.then(() => (end.isHere = true));
    for (let round = 0; round < roundsMax && !end.isHere; round += 1) await callGoesOn();
    const { close: seen, texts } = await flooding;
    assert.equal(seen, close);
    if (close !== '1008 ') assert.match(texts.at(-1) ?? '', said);
    await callGoesOn();
    nobodyDied();
  });

test('only an idle bridge that floods with refusals is closed', async () => {
  const raw = await leg({ Authorization: `Bearer ${testBridgeKeys.own}` }, bridgePath);
  const { close } = await flood(raw, piecesOf(encodeFrame('{"type":"refuse"}')));
  assert.equal(close, '4429 too_much');
  await callGoesOn();
  nobodyDied();
});

test('the log of the server names the kind of flood', async () => {
  const { media } = await scene.server.command.logged<{ media: { fault: string } }>(
    'media leg: closed for exceeding a rate limit',
  );
  assert.match(media.fault, tooMany('texts'));
});

function nobodyDied(): void {
  const died = scene.server.command.lines.filter((line) => line.includes('media process: died'));
  assert.deepEqual(died, []);
}
