/**
 * Descriptions, fragments and packets of WebRTC broken at random from a seed: each is taken or refused, and what is taken
 * of a description has nothing in it that would end a line of the one that the library is given. The canary is a reader
 * that believes a length.
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
import { encodeNack, encodeSenderReport } from '../../src/protocol/rtp/rtcp.ts';
import { decodeRtp, encodeRtp } from '../../src/protocol/rtp/rtp-packet.ts';
import { readFromRoot } from '../support/checkout.ts';
import { DrivenClock } from '../support/driven-clock.ts';
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

test('a broken offer is answered or refused, and credentials that are taken are of their grammar', () => {
  const chance = chanceFrom(seed);
  const seen = { taken: 0, refused: 0 };
  for (let i = 0; i < 3000; i += 1) {
    const text = brokenText(chance);
    readIceFragment(text);
    const offer = readOffer(text);
    const agreement = offer.ok ? agree(offer.value) : offer;
    if (!offer.ok || !agreement.ok) {
      seen.refused += 1;
      continue;
    }
    seen.taken += 1;
    const { ice, dtls } = offer.value;
    assert.match(`${ice.ufrag} ${ice.password}`, /^[\w+/]+ [\w+/]+$/);
    assert.match(`${dtls.fingerprintAlgorithm} ${dtls.fingerprint} ${dtls.setup}`, /^[\w-]+ [0-9A-F:]+ \w+$/);
    const { sections } = agreement.value;
    const answer = writeAnswer({
      sections,
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

const h264 = {
  payloadType: 96,
  name: 'h264',
  clockRate: 90_000,
  channels: 1,
  parameters: new Map(),
  feedback: new Set<string>(),
};
const opus = { ...h264, payloadType: 111, name: 'opus', clockRate: 48_000 };

function brokenPacket(chance: Chance, index: number): Buffer {
  const unit = Buffer.alloc(1 + chance.below(3000), chance.below(256));
  const payload = pick(chance, packetizeH264([unit, Buffer.from([0x67, 1])], 1100));
  const packet = pick(chance, [
    encodeRtp({
      payloadType: pick(chance, [96, 96, 111, 5]),
      marker: chance.below(2) === 0,
      sequence: (index + chance.below(40)) & 0xffff,
      timestamp: chance.below(2 ** 32),
      ssrc: 1 + chance.below(3),
      payload,
    }),
    encodeNack(1, 2, [chance.below(65_536)]),
    encodeSenderReport({
      ssrc: 1,
      ntpSeconds: 1,
      ntpFraction: 1,
      timestamp: 1,
      packets: 1,
      bytes: 1,
      blocks: [],
    }),
  ]);
  for (let i = chance.below(4); i > 0; i -= 1) packet[chance.below(packet.length)] = chance.below(256);
  return packet.subarray(0, chance.below(3) === 0 ? chance.below(packet.length + 1) : packet.length);
}

test('broken packets are taken or passed over, and what is held and sent for them is bounded', () => {
  const chance = chanceFrom(seed);
  const clock = new DrivenClock();
  const owner = new KeptOwner();
  let sent = 0;
  const agreement = {
    sections: [],
    videoDown: h264,
    videoUp: h264,
    audioDown: opus,
    audioUp: opus,
    channels: null,
  };
  const streams = new MediaStreams(agreement, {
    clock,
    owner,
    sourceName: 'n',
    feedback: new SharedFeedback(0),
    send: (packet) => (sent += packet.length),
  });
  const rounds = 20_000;
  for (let i = 0; i < rounds; i += 1) {
    streams.take(brokenPacket(chance, i));
    if (i % 10 !== 0) continue;
    clock.advance(20);
    streams.tick(clock.monotonicMs());
  }
  assert(owner.told.some((line) => line.startsWith('video ')));
  assert(owner.told.some((line) => line.startsWith('audio ')));
  assert(owner.told.length <= rounds * 2);
  // 40 s of feedback: below 16 KiB a second.
  assert(sent > 0 && sent < 40 * 16 * 1024, `${sent} bytes of feedback`);
});

test('the canary: a reader that believes the length of padding is caught', () => {
  const chance = chanceFrom(seed);
  const believing = (bytes: Buffer): number => bytes.length - 12 - (bytes.at(-1) ?? 0);
  let caught = 0;
  for (let i = 0; i < 2000; i += 1) {
    const packet = brokenPacket(chance, i);
    if (decodeRtp(packet) === null && packet.length >= 12 && believing(packet) < 0) caught += 1;
  }
  assert(caught > 0);
});
