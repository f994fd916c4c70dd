/** RTP, RTCP and H.264 payloads against bytes from another implementation (werift), and some written down from the RFCs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  GenericNack,
  H264RtpPayload,
  PictureLossIndication,
  ReceiverEstimatedMaxBitrate,
  RtcpPacketConverter,
  RtcpPayloadSpecificFeedback,
  RtcpReceiverInfo,
  RtcpRrPacket,
  RtcpSenderInfo,
  RtcpSrPacket,
  RtcpTransportLayerFeedback,
  RtpHeader,
  RtpPacket,
} from 'werift';
import {
  rtcAggregateUnitsMax,
  rtcFeedbackMessagesMax,
  rtcPacketsKept,
  rtcPiecesMax,
} from '../../src/model/media/rtc-limits.ts';
import { H264Assembler, packetizeH264 } from '../../src/protocol/rtp/h264-payload.ts';
import {
  decodeRtcp,
  encodeBitrateMax,
  encodeNack,
  encodePictureLost,
  encodeReceiverReport,
  encodeSenderReport,
  encodeSourceName,
} from '../../src/protocol/rtp/rtcp.ts';
import { decodeRtp, encodeRtp, isRtcp } from '../../src/protocol/rtp/rtp-packet.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');

test('an RTP packet with sources, extensions and padding is read to its payload', () => {
  // Two contributing sources, an extension of one word, 4 bytes of padding. RFC 3550, 5.1 and 5.3.1.
  const read = decodeRtp(hex('b2e0ffff01020304a0a0a0a01111111122222222bede000110ff0000c0ffee00000004'));
  assert(read !== null);
  assert.deepEqual(
    { ...read, payload: Buffer.from(read.payload).toString('hex') },
    {
      payloadType: 96,
      marker: true,
      sequence: 65_535,
      timestamp: 0x01020304,
      ssrc: 0xa0a0a0a0,
      payload: 'c0ffee',
    },
  );
});

for (const [what, bytes] of [
  ['shorter than its header', '80600001000000010000'],
  ['of another version', '406000010000000100000001'],
  ['with more sources than bytes', '8f6000010000000100000001'],
  ['with an extension beyond its end', '9060000100000001000000010000ffff'],
  ['with more padding than bytes', 'a060000100000001000000010a'],
  ['with padding of no bytes', 'a0600001000000010000000100'],
] as const)
  test(`a packet ${what} is refused`, () => assert.equal(decodeRtp(hex(bytes)), null));

test('a picture of too many pieces is broken, and so is one of one-byte units only; the next one is whole', () => {
  const assembler = new H264Assembler(1_000_000);
  for (let i = 0; i <= rtcPiecesMax; i += 1) assembler.push(hex('01aa'));
  assert.equal(assembler.end(), null);
  const unitsOfOneByte = Buffer.concat([hex('18'), Buffer.alloc(3 * (rtcPiecesMax + 1), hex('000101'))]);
  assembler.push(unitsOfOneByte);
  assert.equal(assembler.end(), null);
  assembler.push(hex('6588'));
  assert.deepEqual(assembler.end(), [hex('6588')]);
});

test('an aggregate beyond its limit of units is broken, and one at the limit is whole', () => {
  const aggregate = (count: number): Buffer =>
    Buffer.concat([hex('18'), Buffer.alloc(3 * count, hex('000165'))]);
  const assembler = new H264Assembler(1_000_000);
  assembler.push(aggregate(rtcAggregateUnitsMax));
  assert.equal(assembler.end()?.length, rtcAggregateUnitsMax);
  assembler.push(aggregate(rtcAggregateUnitsMax + 1));
  assert.equal(assembler.end(), null);
});

test('a NACK is read up to the number of kept packets', () => {
  const every17th = Array.from({ length: 300 }, (_, index) => index * 17);
  const [nack] = decodeRtcp(encodeNack(1, 2, every17th));
  assert(nack?.kind === 'nack');
  assert.deepEqual(nack.sequences, every17th.slice(0, rtcPacketsKept));
});

test('RTP is written as another stack writes it', () => {
  const fields = { payloadType: 102, marker: true, timestamp: 0xfffffff0, ssrc: 7 };
  const payload = hex('6588840021');
  const theirs = new RtpPacket(new RtpHeader({ ...fields, sequenceNumber: 513 }), payload).serialize();
  assert.deepEqual(encodeRtp({ ...fields, sequence: 513, payload }), theirs);
  assert.equal(isRtcp(theirs), false);
});

const block = {
  ssrc: 9,
  fractionLost: 64,
  lost: 1000,
  highestSequence: 0x1_0005,
  jitter: 33,
  lastReport: 0x89abcdef,
  sinceLastReport: 65_536,
};
const theirBlock = new RtcpReceiverInfo({
  ssrc: 9,
  fractionLost: 64,
  packetsLost: 1000,
  highestSequence: 0x1_0005,
  jitter: 33,
  lsr: 0x89abcdef,
  dlsr: 65_536,
});

test('reports are written and read as another stack does', () => {
  const sender = {
    ssrc: 5,
    ntpSeconds: 0xe0000001,
    ntpFraction: 0x80000000,
    timestamp: 90_000,
    packets: 12,
    bytes: 3456,
  };
  const info = { ntpTimestamp: 0xe000000180000000n, rtpTimestamp: 90_000, packetCount: 12, octetCount: 3456 };
  const theirs = Buffer.concat([
    new RtcpSrPacket({ ssrc: 5, senderInfo: new RtcpSenderInfo(info), reports: [theirBlock] }).serialize(),
    new RtcpRrPacket({ ssrc: 6, reports: [theirBlock] }).serialize(),
  ]);
  const ours = Buffer.concat([
    encodeSenderReport({ ...sender, blocks: [block] }),
    encodeReceiverReport({ ssrc: 6, blocks: [block] }),
  ]);
  assert.deepEqual(ours, theirs);
  assert.deepEqual(decodeRtcp(theirs), [
    { kind: 'sender_report', ...sender, blocks: [block] },
    { kind: 'receiver_report', ssrc: 6, blocks: [block] },
  ]);
  assert(isRtcp(theirs));
});

test('more packets than expected are a negative loss', () => {
  const written = encodeReceiverReport({ ssrc: 1, blocks: [{ ...block, lost: -3 }] });
  assert.deepEqual(decodeRtcp(written), [
    { kind: 'receiver_report', ssrc: 1, blocks: [{ ...block, lost: -3 }] },
  ]);
});

test('feedback is written and read as another stack does', () => {
  const lost = [65_534, 65_535, 0, 14, 40];
  const nack = new RtcpTransportLayerFeedback({
    feedback: new GenericNack({ senderSsrc: 1, mediaSourceSsrc: 2, lost: [10, 11, 12, 26, 40] }),
  }).serialize();
  const pictureLost = new RtcpPayloadSpecificFeedback({
    feedback: new PictureLossIndication({ senderSsrc: 1, mediaSsrc: 2 }),
  }).serialize();
  const bitrate = new RtcpPayloadSpecificFeedback({
    feedback: new ReceiverEstimatedMaxBitrate({
      senderSsrc: 1,
      brExp: 4,
      brMantissa: 156_250,
      ssrcNum: 1,
      ssrcFeedbacks: [2],
    }),
  }).serialize();
  assert.deepEqual(encodeNack(1, 2, [10, 11, 12, 26, 40]), nack);
  assert.deepEqual(encodePictureLost(1, 2), pictureLost);
  assert.deepEqual(encodeBitrateMax(1, 2, 2_500_000), bitrate);
  assert.deepEqual(decodeRtcp(Buffer.concat([nack, pictureLost, bitrate])), [
    { kind: 'nack', ssrc: 2, sequences: [10, 11, 12, 26, 40] },
    { kind: 'picture_lost', ssrc: 2 },
    { kind: 'bitrate_max', ssrcs: [2], bitsPerSecond: 2_500_000 },
  ]);
  assert.deepEqual(decodeRtcp(encodeNack(1, 2, lost)), [{ kind: 'nack', ssrc: 2, sequences: lost }]);
});

test('a full intra request names each stream, and unknown or truncated packets are skipped', () => {
  // RFC 5104, 4.3.1.1: two entries; before it an APP packet, after it a report that claims more than its length.
  const bytes = hex(
    '80cc0002 00000001 41414141 84ce0006 00000001 00000000 00000002 05000000 00000003 06000000 80c90007',
  );
  assert.deepEqual(decodeRtcp(bytes), [{ kind: 'full_intra', ssrcs: [2, 3] }]);
});

test('a compound packet is read up to its limit of messages of any kind', () => {
  for (const one of [
    encodePictureLost(1, 2),
    hex('80cc0000'),
    encodeReceiverReport({ ssrc: 1, blocks: [] }),
  ]) {
    const whole = Buffer.concat([
      ...Array.from({ length: rtcFeedbackMessagesMax - 1 }, () => one),
      encodePictureLost(1, 7),
    ]);
    assert.deepEqual(decodeRtcp(whole).at(-1), { kind: 'picture_lost', ssrc: 7 });
    assert.notDeepEqual(decodeRtcp(Buffer.concat([one, whole])).at(-1), { kind: 'picture_lost', ssrc: 7 });
  }
});

test('a source name is padded to whole words, and another stack reads it', () => {
  for (const name of ['a', 'ab', 'abc', 'abcd']) {
    const [description] = RtcpPacketConverter.deSerialize(encodeSourceName(4, name)) as unknown as [
      { chunks: { source: number; items: { type: number; text: string }[] }[] },
    ];
    assert.deepEqual(description.chunks[0]?.source, 4);
    assert.deepEqual(description.chunks[0]?.items[0]?.text, name);
  }
});

const units = [
  hex('6742e01f'),
  hex('68ce06e2'),
  Buffer.concat([hex('65'), Buffer.alloc(250, 0xaa)]),
  hex('06ff'),
];

test('small units share a payload, a large one is fragmented, and another stack reassembles it', () => {
  const payloads = packetizeH264(units, 100);
  assert.equal(Buffer.from(payloads[0] ?? []).toString('hex'), '7800046742e01f000468ce06e2');
  assert.deepEqual(
    payloads.map((payload) => payload.length),
    [13, 100, 100, 56, 2],
  );
  assert.equal(Buffer.from(payloads[1]?.subarray(0, 2) ?? []).toString('hex'), '7c85');
  assert.equal(Buffer.from(payloads[3]?.subarray(0, 2) ?? []).toString('hex'), '7c45');
  let fragment: Buffer = Buffer.alloc(0);
  const theirs = payloads.map((payload) => {
    const read = H264RtpPayload.deSerialize(Buffer.from(payload), fragment);
    fragment = read.fragment ?? Buffer.alloc(0);
    return read.payload ?? Buffer.alloc(0);
  });
  const annexB = Buffer.concat(units.flatMap((unit) => [hex('00000001'), unit]));
  assert.deepEqual(Buffer.concat(theirs), annexB);
});

for (const [what, payloads] of [
  ['begins in the middle of a unit', ['7c05aabb', '7c45cc']],
  ['begins a unit twice', ['7c85aabb', '7c85cc', '7c45dd']],
  ['ends in the middle of a unit', ['7c85aabb']],
  ['has another unit within a unit', ['7c85aabb', '41bb', '7c45cc']],
  ['has an aggregate cut short', ['78000441bb']],
  ['has an aggregate of empty units', ['780000']],
  ['has a fragment of nothing', ['7c85', '7c45aa']],
  ['is of a packetization that is not agreed', ['79000041bb']],
] as const)
  test(`an access unit that ${what} is dropped, and the next one is whole`, () => {
    const assembler = new H264Assembler(1000);
    for (const payload of payloads) assembler.push(hex(payload));
    assert.equal(assembler.end(), null);
    assembler.push(hex('41aa'));
    assert.deepEqual(assembler.end(), [hex('41aa')]);
  });

test('an access unit beyond its limit is dropped', () => {
  const assembler = new H264Assembler(10);
  assembler.push(hex('410102030405'));
  assembler.push(hex('410102030405'));
  assert.equal(assembler.end(), null);
});
