/**
 * Runs FFmpeg's own WHIP muxer as a process: sends a file in real time, until its end or until it is stopped; then closes its
 * session. `ffmpeg-whip.ts FILE ENDPOINT TOKEN`
 */
import { setTimeout } from 'node:timers/promises';
import { Demuxer, Muxer } from 'node-av/api';

const [file = '', endpoint = '', token = ''] = process.argv.slice(2);

const input = Demuxer.openSync(file);
const output = Muxer.openSync(endpoint, { format: 'whip', options: { authorization: token } });
const streams = input.streams.map((stream) => output.addStream(stream));
const startedMs = performance.now();
let isOver = false;
process.once('SIGTERM', () => (isOver = true));
for (const packet of input.packetsSync()) {
  if (packet === null || isOver) break;
  const { num, den } = packet.timeBase;
  const dueMs = startedMs + (Number(packet.dts) * 1000 * num) / den;
  await setTimeout(Math.max(0, dueMs - performance.now()));
  output.writePacketSync(packet, streams[packet.streamIndex] ?? 0);
  packet.free();
}
output.closeSync();
input.closeSync();
