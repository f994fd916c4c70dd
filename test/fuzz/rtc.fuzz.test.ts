/**
 * Descriptions, fragments and packets of WebRTC mutated at random from a seed: each is accepted or refused, and accepted values
 * contain nothing that would end a line of the description for the library. The canary is a reader that trusts a length.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agree } from '../../src/media/webrtc/agreement.ts';
import { SharedFeedback } from '../../src/media/webrtc/feedback-allowance.ts';
import { MediaStreams } from '../../src/media/webrtc/media-streams.ts';
import { readIceFragment } from '../../src/protocol/sdp/ice-fragment.ts';
import { writeAnswer } from '../../src/protocol/sdp/media-answer.ts';
import { readOffer } from '../../src/protocol/sdp/media-offer.ts';
import { packetizeH264 } from '../../src/protocol/rtp/h264-payload.ts';
import {
  decodeRtcp,
  encodeBitrateMax,
  encodeNack,
  encodePictureLost,
  encodeReceiverReport,
  encodeSenderReport,
} from '../../src/protocol/rtp/rtcp.ts';
import {
  rtcFeedbackMessagesMax,
  rtcOfferBytesMax,
  rtcPacketsKept,
} from '../../src/model/media/rtc-limits.ts';
import { decodeRtp, encodeRtp } from '../../src/protocol/rtp/rtp-packet.ts';
import { readFromRoot } from '../support/checkout.ts';
import { fullOffer } from '../support/hostile-offers.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { bothWays } from '../support/incoming-scene.ts';
import { KeptOwner } from '../support/kept-rtc-owner.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';

const seed = 0x7274_6303;
const chromium = readFromRoot('test/fixtures/chromium-offer.sdp');
const transport = { ufrag: 'u', password: 'p', fingerprint: 'f', setup: 'active', candidates: [] };

function pick<Item>(chance: Chance, items: readonly Item[]): Item {
  const item = items[chance.below(items.length)];
  assert(item !== undefined);
  return item;
}

const pieces = [
  '\r',
  '\n',
  '\0',
  ' ',
  ':',
  ';',
  '=',
  'a=',
  'm=',
  '99999999999',
  'é',
  '"',
  '%',
  'a=mid:0\r\n',
  '/',
];

function brokenText(chance: Chance): string {
  let text = chromium;
  for (let i = chance.below(6); i >= 0; i -= 1) {
    const at = chance.below(text.length);
    const cut = chance.below(4) === 0 ? chance.below(400) : chance.below(3);
    text = text.slice(0, at) + (chance.below(2) === 0 ? pick(chance, pieces) : '') + text.slice(at + cut);
  }
  return text;
}

test('a mutated offer is answered or refused, and accepted credentials match their grammar', () => {
  const chance = chanceFrom(seed);
  const seen = { taken: 0, refused: 0 };
  for (let i = 0; i < 3000; i += 1) {
    const text = brokenText(chance);
    readIceFragment(text);
    const offer = readOffer(text);
    const agreement = offer.ok ? agree(offer.value) : offer;
    if (!agreement.ok) {
      seen.refused += 1;
      continue;
    }
    seen.taken += 1;
    const { ice, dtls } = agreement.value.transport;
    assert.match(`${ice.ufrag} ${ice.password}`, /^[\w+/]+ [\w+/]+$/);
    assert.match(`${dtls.fingerprintAlgorithm} ${dtls.fingerprint} ${dtls.setup}`, /^[\w-]+ [0-9A-F:]+ \w+$/);
    const { sections } = agreement.value;
    const answer = writeAnswer({
      accepted: agreement.value,
      transport,
      ssrcs: { audio: 1, video: 2 },
      sourceName: 'n',
      messageBytesMax: 1,
    });
    assert(answer.split('\r\n').every((line) => /^([a-z]=[^\r\n]*)?$/.test(line)));
    assert.equal(answer.split('m=').length - 1 >= sections.length, true);
  }
  assert(seen.taken > 500 && seen.refused > 500, JSON.stringify(seen));
});

/** Feedback with as many messages as fit into a packet. */
function compound(chance: Chance): Buffer {
  const one = pick(chance, [
    encodeNack(
      1,
      2,
      Array.from({ length: 1 + chance.below(17) }, (_, index) => chance.below(65_000) + index),
    ),
    encodePictureLost(1, 2),
    encodeBitrateMax(1, 2, chance.below(5_000_000)),
    encodeReceiverReport({ ssrc: 1, blocks: [] }),
  ]);
  return Buffer.concat(Array.from({ length: 1 + chance.below(60) }, () => one));
}

test('a mutated compound packet is read up to its limits', () => {
  const chance = chanceFrom(seed);
  let most = 0;
  for (let i = 0; i < 20_000; i += 1) {
    const bytes = compound(chance);
    for (let broken = chance.below(6); broken > 0; broken -= 1)
      bytes[chance.below(bytes.length)] = chance.below(256);
    const messages = decodeRtcp(bytes);
    const named = messages.reduce(
      (sum, message) => sum + (message.kind === 'nack' ? message.sequences.length : 0),
      0,
    );
    assert(messages.length <= rtcFeedbackMessagesMax && named <= rtcPacketsKept);
    most = Math.max(most, named);
  }
  assert.equal(most, rtcPacketsKept);
});

/** The next sequence number of each payload type. */
type Sequences = Map<number, number>;

function brokenPacket(chance: Chance, sequences: Sequences = new Map()): Buffer {
  const packet = chance.below(2) === 0 ? mediaPacket(chance, sequences) : controlPacket(chance);
  for (let i = chance.below(4); i > 0; i -= 1) packet[chance.below(packet.length)] = chance.below(256);
  return packet.subarray(0, chance.below(3) === 0 ? chance.below(packet.length + 1) : packet.length);
}

/** Mostly in order, sometimes with a gap, or an old one. */
function mediaPacket(chance: Chance, sequences: Sequences): Buffer {
  const payloadType = pick(chance, [96, 96, 111, 5]);
  const sequence = (sequences.get(payloadType) ?? 0) + pick(chance, [1, 1, 1, 1, 1, 1, 1, 2, 40, -3]);
  sequences.set(payloadType, sequence);
  const unit = Buffer.alloc(1 + chance.below(3000), chance.below(256));
  return encodeRtp({
    payloadType,
    marker: chance.below(2) === 0,
    sequence: sequence & 0xffff,
    timestamp: chance.below(2 ** 32),
    ssrc: chance.below(50) === 0 ? 2 : 1,
    payload: pick(chance, packetizeH264([unit, Buffer.from([0x67, 1])], 1100)),
  });
}

function controlPacket(chance: Chance): Buffer {
  const report = { ssrc: 1, ntpSeconds: 1, ntpFraction: 1, timestamp: 1, packets: 1, bytes: 1, blocks: [] };
  return pick(chance, [
    encodeNack(1, 2, [chance.below(65_536)]),
    compound(chance),
    Buffer.from([0x81, 203, 0, 1, 0, 0, 0, 1 + chance.below(2)]),
    encodeSenderReport(report),
  ]);
}

/** An offer of up to 64 KiB with random counts: few or many formats, and attributes of a few names. */
function largeOffer(chance: Chance): string {
  const format = (): number => chance.below(chance.below(2) === 0 ? 4 : 200);
  const count = (): number => chance.below(pick(chance, [4, 60, 130, 3000]));
  const formats = Array.from({ length: 1 + count() }, () => ` ${format()}`).join('');
  const line = pick(chance, [
    () => `a=rtpmap:${format()} opus/48000/2\r\n`,
    () => {
      const parameters = Array.from({ length: count() }, (_, index) => `${index}=1`).join(';');
      return `a=rtpmap:8 pcma/8000\r\na=fmtp:${pick(chance, [8, format()])} ${parameters}\r\n`;
    },
    () =>
      `a=rtcp-fb:${pick(chance, ['*', String(format())])} ${pick(chance, ['nack', 'nack pli', 'other'])}\r\n`,
    () => `a=group:BUNDLE${' 0'.repeat(count())}\r\n`,
    () => `m=audio 9 UDP/TLS/RTP/SAVPF${formats.slice(0, 4 * count())} 8\r\n`,
  ]);
  const lines = Array.from({ length: count() }, line).join('');
  const bytes = pick(chance, [2000, 8000, rtcOfferBytesMax]);
  return fullOffer(formats, lines === '' ? 'a=x\r\n' : lines, bytes).slice(0, rtcOfferBytesMax);
}

/** Number of values that a reader keeps of an offer; null: refused. */
function kept(text: string): number | null {
  const offer = readOffer(text);
  if (!offer.ok) return null;
  const codecs = offer.value.sections.flatMap((section) => section.codecs);
  return codecs.reduce((sum, codec) => sum + 1 + codec.feedback.size + codec.parameters.size, 0);
}

test('a reader keeps less of a large offer than its bytes, in linear time', () => {
  const chance = chanceFrom(seed);
  let [read, slowestMs] = [0, 0];
  for (let i = 0; i < 400; i += 1) {
    const text = largeOffer(chance);
    const startedMs = performance.now();
    const count = kept(text);
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
    if (count === null) continue;
    read += 1;
    assert(count <= text.length, `${count} values of ${text.length} bytes`);
  }
  assert(read > 80, `${read} offers were read`);
  assert(slowestMs < 500, `${slowestMs} ms`);
});

test('mutated packets are accepted or skipped, and the memory and feedback for them is bounded', () => {
  const chance = chanceFrom(seed);
  const clock = new DrivenClock();
  const owner = new KeptOwner();
  let sent = 0;
  const streams = new MediaStreams(bothWays, {
    clock,
    owner,
    sourceName: 'n',
    feedback: new SharedFeedback(0),
    send: (packet) => (sent += packet.length),
  });
  const rounds = 20_000;
  const sequences: Sequences = new Map();
  for (let i = 0; i < rounds; i += 1) {
    streams.receive(brokenPacket(chance, sequences));
    if (i % 10 !== 0) continue;
    clock.advance(20);
    streams.tick(clock.monotonicMs());
  }
  assert(owner.lines.some((line) => line.startsWith('video ')));
  assert(owner.lines.some((line) => line.startsWith('audio ')));
  assert(owner.lines.length <= rounds * 2);
  // 40 s of feedback: below 16 KiB a second.
  assert(sent > 0 && sent < 40 * 16 * 1024, `${sent} bytes of feedback`);
});

test('the fuzzer catches a reader that trusts the length of padding', () => {
  const chance = chanceFrom(seed);
  const believing = (bytes: Buffer): number => bytes.length - 12 - (bytes.at(-1) ?? 0);
  let caught = 0;
  for (let i = 0; i < 2000; i += 1) {
    const packet = brokenPacket(chance);
    if (decodeRtp(packet) === null && packet.length >= 12 && believing(packet) < 0) caught += 1;
  }
  assert(caught > 0);
});
