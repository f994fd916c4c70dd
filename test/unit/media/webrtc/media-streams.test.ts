/** Streams of a peer, two ends over a wire that a test cuts: order, loss, feedback, reports and pace. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedFeedback } from '../../../../src/media/webrtc/feedback-allowance.ts';
import { rtcUnitMarkedMs } from '../../../../src/model/media/rtc-limits.ts';
import { MediaStreams } from '../../../../src/media/webrtc/media-streams.ts';
import { decodeRtcp, encodeBitrateMax, encodeReceiverReport } from '../../../../src/protocol/rtp/rtcp.ts';
import { decodeRtp, isRtcp } from '../../../../src/protocol/rtp/rtp-packet.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { bothWays } from '../../../support/incoming-scene.ts';
import { KeptOwner } from '../../../support/kept-rtc-owner.ts';

const unit = (type: number, bytes: number): Buffer =>
  Buffer.concat([Buffer.from([0, 0, 0, 1, type]), Buffer.alloc(bytes, 0xaa)]);
const key = unit(0x65, 3);
const later = unit(0x41, 3);
const shown = (bytes: Buffer, isKey = false): string =>
  `video ${bytes.toString('hex')}${isKey ? ' key' : ''}`;

/** Two ends with an immediate wire; `drops` selects the packets of the first that get lost. */
function twoEnds(drops: (packet: Buffer) => boolean = () => false) {
  const clock = new DrivenClock();
  const owners = [new KeptOwner(), new KeptOwner()] as const;
  const sent: Buffer[] = [];
  const answered: Buffer[] = [];
  const make = (index: 0 | 1, send: (packet: Buffer) => void): MediaStreams =>
    new MediaStreams(bothWays, {
      clock,
      owner: owners[index],
      sourceName: 'test',
      feedback: new SharedFeedback(0),
      send,
    });
  const server: MediaStreams = make(0, (packet) => {
    sent.push(packet);
    if (!drops(packet)) client.receive(packet);
  });
  const client: MediaStreams = make(1, (packet) => {
    answered.push(packet);
    server.receive(packet);
  });
  const pass = (ms: number): void => {
    for (let i = 0; i < ms; i += 20) {
      clock.advance(20);
      for (const end of [server, client]) end.tick(clock.monotonicMs());
    }
  };
  return {
    clock,
    server,
    client,
    sent,
    answered,
    pass,
    timesMs: owners[1].timesMs,
    told: owners.map(({ lines }) => lines) as [string[], string[]],
  };
}

const nothing = (): void => undefined;

test('pictures and sound arrive as they were sent', () => {
  const { server, pass, told } = twoEnds();
  server.sendVideo(key, 1000, nothing);
  server.sendAudio(Buffer.from('f801', 'hex'), 1000);
  server.sendVideo(later, 1066, nothing);
  pass(rtcUnitMarkedMs);
  assert.deepEqual(told[1], ['audio opus f801', shown(key, true), shown(later)]);
});

test('a picture is sent under one timestamp with a marker on its last packet only, after its parameter sets', () => {
  const { server, sent, pass } = twoEnds();
  let isSent = false;
  server.sendVideo(unit(0x67, 3), 900, () => (isSent = true));
  assert(isSent, 'the next one may come');
  assert.deepEqual(sent, []);
  const slices = [unit(0x68, 3), unit(0x65, 3000), unit(0x65, 3), unit(0x65, 2000)];
  server.sendVideo(Buffer.concat(slices), 1000, nothing);
  server.sendVideo(Buffer.concat([later, later]), 1066, nothing);
  pass(200);
  const packets = sent.flatMap((bytes) => (isRtcp(bytes) ? [] : (decodeRtp(bytes) ?? [])));
  const timestamps = [...new Set(packets.map(({ timestamp }) => timestamp))];
  assert.equal(timestamps.length, 2);
  assert.equal(((timestamps[1] ?? 0) - (timestamps[0] ?? 0)) >>> 0, 66 * 90);
  const marked = packets.flatMap(({ marker }, index) => (marker ? [index] : []));
  assert.deepEqual(marked, [packets.length - 2, packets.length - 1]);
  const [first] = packets;
  assert.equal(Buffer.from(first?.payload ?? []).toString('hex'), '78000467aaaaaa000468aaaaaa');
});

test('a packet that is lost once is requested and sent again, and nothing is missing', () => {
  let losses = 1;
  const { server, pass, told } = twoEnds(
    (packet) => !isRtcp(packet) && packet[4] !== undefined && isSecond(packet) && losses-- > 0,
  );
  const large = unit(0x41, 3000);
  server.sendVideo(key, 0, nothing);
  server.sendVideo(large, 66, nothing);
  server.sendVideo(later, 133, nothing);
  assert.deepEqual(told[1], [shown(key, true)]);
  pass(60 + rtcUnitMarkedMs);
  assert.deepEqual(told[1], [shown(key, true), shown(large), shown(later)]);
  assert.deepEqual(told[0], [], 'no key frame was asked for');
});

/** The second fragment of a unit. */
function isSecond(packet: Buffer): boolean {
  const payload = decodeRtp(packet)?.payload ?? packet;
  return (payload[0] ?? 0) % 32 === 28 && ((payload[1] ?? 0) & 0xc0) === 0;
}

test('a packet that stays lost takes its picture with it, and later ones up to the requested key frame', () => {
  const { server, pass, told, sent } = twoEnds((packet) => !isRtcp(packet) && isSecond(packet));
  server.sendVideo(key, 0, nothing);
  server.sendVideo(unit(0x41, 3000), 66, nothing);
  server.sendVideo(later, 133, nothing);
  pass(1000);
  assert.deepEqual(told[1], [shown(key, true)]);
  assert(told[0].includes('key frame wanted'));
  const resent = sent.filter((packet) => !isRtcp(packet) && isSecond(packet)).length;
  assert.equal(resent, 1 + 3, 'it was sent again as often as is allowed');
  server.sendVideo(key, 1133, nothing);
  pass(rtcUnitMarkedMs);
  assert.deepEqual(told[1].at(-1), shown(key, true));
});

test('both sides send reports each second, and a client receives its limit', () => {
  let dropped = 0;
  const { server, sent, answered, pass } = twoEnds((packet) => !isRtcp(packet) && dropped++ % 4 === 3);
  for (let i = 0; i < 48; i += 1) {
    server.sendAudio(Buffer.from([1, i]), i * 20);
    pass(20);
  }
  pass(200);
  const [report] = sent.filter(isRtcp).flatMap(decodeRtcp);
  assert(report?.kind === 'sender_report');
  assert(report.packets >= 48 && report.bytes === report.packets * 2);
  const blocks = answered
    .flatMap(decodeRtcp)
    .flatMap((message) => ('blocks' in message ? message.blocks : []));
  assert(
    blocks.some(({ fractionLost }) => fractionLost >= 50 && fractionLost <= 70),
    JSON.stringify(blocks),
  );
});

test('the bit rate that a client can receive is reported from its REMB, and when its reports show loss', () => {
  const { server, pass, told } = twoEnds();
  const { video } = server.ssrcs;
  server.receive(encodeBitrateMax(1, video, 400_000));
  server.receive(encodeBitrateMax(1, video, 410_000));
  server.receive(encodeBitrateMax(1, video + 1, 100_000));
  assert.deepEqual(told[0], ['bitrate 400000']);
  server.sendVideo(unit(0x65, 25_000), 0, nothing);
  pass(1000);
  told[0].length = 0;
  const block = {
    ssrc: video,
    fractionLost: 128,
    lost: 9,
    highestSequence: 9,
    jitter: 0,
    lastReport: 0,
    sinceLastReport: 0,
  };
  server.receive(encodeReceiverReport({ ssrc: 1, blocks: [block] }));
  const [rate = 0] = told[0].map((line) => Number(/^bitrate (\d+)$/.exec(line)?.[1]));
  assert(rate > 140_000 && rate < 170_000, `three quarters of the 200 kbit/s that were sent: ${rate}`);
});

test('a large picture is paced, and the next one may come after its last packet', () => {
  const { server, sent, pass } = twoEnds(() => true);
  let isSent = false;
  server.sendVideo(unit(0x65, 200_000), 0, () => (isSent = true));
  const atOnce = sent.length;
  assert(atOnce > 10 && atOnce < 40 && !isSent);
  pass(100);
  assert(!isSent);
  pass(120);
  assert(isSent);
  assert(sent.filter((packet) => !isRtcp(packet)).length > 180);
});

/** Pictures that come later than the sound of the same moment, for some seconds; returns their final delay. */
function lateness(lateMs: number): number {
  const { server, pass, timesMs } = twoEnds();
  for (let atMs = 0; atMs < 4000 + lateMs; atMs += 20) {
    server.sendAudio(Buffer.of(1), atMs);
    if (atMs >= lateMs) server.sendVideo(key, atMs - lateMs, nothing);
    pass(20);
  }
  return timesMs.video + lateMs - timesMs.audio;
}

test('pictures that come later than their sound are shifted to it by the reports, unless the clocks have nothing in common', () => {
  assert.deepEqual([0, 300, 1500].map(lateness), [0, 0, 1500]);
});

test('times of frames have 32 bits, however long the process has run', () => {
  const { clock, server, timesMs } = twoEnds();
  clock.advance(2 ** 32 - clock.monotonicMs() - 20);
  for (const timestampMs of [0, 20, 40]) {
    server.sendAudio(Buffer.of(1), timestampMs);
    clock.advance(20);
  }
  assert.equal(timesMs.audio, 20);
});

test('a closed peer releases the picture in flight', () => {
  const { server } = twoEnds();
  let isSent = false;
  server.sendVideo(unit(0x65, 200_000), 0, () => (isSent = true));
  server.close();
  assert(isSent);
});
