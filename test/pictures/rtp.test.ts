/**
 * Access units of RTP against another hand: FFmpeg codes 20 pictures of four slices each, and sends them by its own
 * packetizer; whatever the markers are made, FFmpeg shows of our access units the pictures of its own stream, one a unit.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { splitNalUnits } from '../../src/media/geometry/nal-units.ts';
import { isSlice } from '../../src/protocol/rtp/h264-payload.ts';
import { decodeRtp, encodeRtp, isRtcp, type RtpPacket } from '../../src/protocol/rtp/rtp-packet.ts';
import { runTool } from '../support/debian-tools.ts';
import { IncomingScene } from '../support/incoming-scene.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const count = 20;
const slices = 4;
const encoder =
  `-v error -f lavfi -i testsrc2=size=320x240:rate=15 -frames:v ${count} -c:v libx264 -profile:v baseline ` +
  `-pix_fmt yuv420p -bf 0 -g 5 -x264-params slices=${slices}:sliced-threads=0:repeat-headers=1`;

/** One line for each picture that FFmpeg shows. */
async function picturesOf(file: string): Promise<string[]> {
  const text = await runTool('ffmpeg', ['-v', 'error', '-f', 'h264', '-i', file, '-f', 'framemd5', '-']);
  return text
    .toString()
    .split('\n')
    .filter((line) => /^\d/.test(line))
    .map((line) => line.split(',').at(-1) ?? '');
}

/** The film, and the packets that FFmpeg sends of it. */
async function sent(t: TestContext): Promise<{ readonly film: string; readonly packets: RtpPacket[] }> {
  const film = join(temporaryDirectory(t), 'film.h264');
  await runTool('ffmpeg', [...encoder.split(' '), '-f', 'h264', film]);
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  const packets: RtpPacket[] = [];
  socket.on('message', (bytes) => {
    const packet = isRtcp(bytes) ? null : decodeRtp(bytes);
    if (packet !== null) packets.push(packet);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const to = `rtp://127.0.0.1:${socket.address().port}?pkt_size=1200`;
  const copy = `-v error -re -f h264 -framerate 60 -i ${film} -c copy -payload_type 96 -f rtp ${to}`;
  await runTool('ffmpeg', copy.split(' '));
  while (new Set(packets.map(({ timestamp }) => timestamp)).size < count) await once(socket, 'message');
  return { film, packets };
}

test('pictures of four slices that FFmpeg sends are one access unit each, and are shown as in its own stream', async (t) => {
  const { film, packets } = await sent(t);
  const expected = await picturesOf(film);
  assert.equal(expected.length, count);
  for (const [what, isMarked] of [
    ['as they are', ({ marker }) => marker],
    ['all', () => true],
    ['none', () => false],
    ['each third', ({ sequence }) => sequence % 3 === 0],
  ] as readonly (readonly [string, (packet: RtpPacket) => boolean])[]) {
    const scene = new IncomingScene();
    let last = packets[0]?.timestamp ?? 0;
    for (const packet of packets) {
      if (packet.timestamp !== last) scene.pass(60);
      last = packet.timestamp;
      scene.push(encodeRtp({ ...packet, marker: isMarked(packet) }));
    }
    scene.pass(1000);
    const units = scene.video.map((line) => Buffer.from(line.split(' ')[1] ?? '', 'hex'));
    const file = join(temporaryDirectory(t), 'units.h264');
    writeFileSync(file, Buffer.concat(units));
    assert.equal(units.length, count, what);
    assert(
      units.every((unit) => splitNalUnits(unit).filter(isSlice).length === slices),
      what,
    );
    assert.deepEqual(await picturesOf(file), expected, what);
    assert.equal(scene.pictureLosses, 0, what);
  }
});
