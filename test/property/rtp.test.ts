/** Property: packetized RTP is reassembled in whatever order it arrives within the window, whatever its sequence numbers. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ReorderWindow } from '../../src/media/webrtc/reorder-window.ts';
import { H264Assembler, joinAnnexB, packetizeH264 } from '../../src/protocol/rtp/h264-payload.ts';
import { decodeRtp, encodeRtp, type RtpPacket } from '../../src/protocol/rtp/rtp-packet.ts';
import { IncomingScene } from '../support/incoming-scene.ts';

const unit = fc
  .tuple(fc.integer({ min: 1, max: 23 }), fc.uint8Array({ minLength: 1, maxLength: 400 }))
  .map(([type, rest]) => Buffer.concat([Buffer.from([0x60 | type]), rest]));

test('NAL units of any size are reassembled from their packets', () => {
  fc.assert(
    fc.property(
      fc.array(unit, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 4, max: 300 }),
      (units, max) => {
        const payloads = packetizeH264(units, max);
        assert(payloads.every(({ length }) => length <= max));
        const assembler = new H264Assembler(1_000_000);
        for (const payload of payloads) assembler.push(payload);
        const gathered = assembler.end();
        assert(gathered !== null);
        const annexB = Buffer.concat(units.flatMap((bytes) => [Buffer.from([0, 0, 0, 1]), bytes]));
        assert.deepEqual(Buffer.from(joinAnnexB(gathered)), annexB);
      },
    ),
  );
});

test('an encoded packet decodes to the same values', () => {
  const packet = fc.record({
    payloadType: fc.integer({ min: 0, max: 127 }),
    marker: fc.boolean(),
    sequence: fc.integer({ min: 0, max: 0xffff }),
    timestamp: fc.integer({ min: 0, max: 0xffff_ffff }),
    ssrc: fc.integer({ min: 0, max: 0xffff_ffff }),
    payload: fc.uint8Array({ maxLength: 50 }),
  });
  fc.assert(
    fc.property(packet, (given) => {
      const read = decodeRtp(encodeRtp(given));
      assert(read !== null);
      assert.deepEqual({ ...read, payload: [...read.payload] }, { ...given, payload: [...given.payload] });
    }),
  );
});

const numbered = (sequence: number): RtpPacket => ({
  payloadType: 96,
  marker: false,
  sequence: sequence & 0xffff,
  timestamp: 0,
  ssrc: 1,
  payload: new Uint8Array(1),
});

test('packets are delivered once and in order, and missing ones are reported and given up', () => {
  const arrivals = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 120 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffff }), arrivals, (start, offsets) => {
      const window = new ReorderWindow(300);
      const order = [0, ...offsets];
      const came = order.flatMap((offset) => window.push(numbered(start + offset), 0));
      const highest = Math.max(...order);
      const missing = Array.from({ length: highest }, (_, offset) => offset).filter(
        (offset) => !order.includes(offset),
      );
      assert.deepEqual(new Set(window.ask(100)), new Set(missing.map((offset) => (start + offset) & 0xffff)));
      came.push(...window.tick(1000));
      const offsetsSeen = came.flatMap((item) => (item === 'lost' ? [] : [(item.sequence - start) & 0xffff]));
      assert.deepEqual(
        offsetsSeen,
        [...new Set(order)].sort((one, other) => one - other),
      );
      assert.equal(came.includes('lost'), missing.length > 0);
      assert.deepEqual(window.ask(2000), []);
    }),
  );
});

/** A picture: its slices, the first of which is a key frame or not, and the preceding parameter sets. */
const picture = fc.record({
  parameters: fc.uniqueArray(fc.constantFrom('6742e01f', '68ce3c80', '0605aabb', '09f0'), { maxLength: 4 }),
  slices: fc.integer({ min: 1, max: 4 }),
  sliceBytes: fc.constantFrom(2, 50, 400),
  /** Timestamp step from the previous picture. */
  ticks: fc.constantFrom(1, 3000, 6000, 2 ** 31, 2 ** 32 - 90_000),
});

test('pictures are the same access units however packets are marked, divided, reordered and repeated', () => {
  const stream = fc.array(picture, { minLength: 1, maxLength: 30 });
  const chances = fc.record({
    marks: fc.infiniteStream(fc.boolean()),
    places: fc.infiniteStream(fc.integer({ min: 0, max: 6 })),
    payloadBytesMax: fc.constantFrom(60, 200, 1100),
    first: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  });
  fc.assert(
    fc.property(stream, chances, (pictures, { marks, places, payloadBytesMax, first }) => {
      const scene = new IncomingScene();
      let timestamp = first;
      const expected: string[] = [];
      const packets: Buffer[] = [];
      for (const [index, { parameters, slices, sliceBytes, ticks }] of pictures.entries()) {
        timestamp = (timestamp + ticks) % 2 ** 32;
        const head = index === 0 ? '65' : '41';
        const nals = [
          ...parameters,
          ...Array.from(
            { length: slices },
            (_, slice) => head + `${slice + 1}${index % 10}`.repeat(sliceBytes),
          ),
        ];
        const units = nals.map((nal) => Buffer.from(nal, 'hex'));
        for (const payload of packetizeH264(units, payloadBytesMax)) {
          const marker = marks.next().value;
          packets.push(scene.packet(Buffer.from(payload).toString('hex'), { timestamp, marker }));
        }
        expected.push(`video ${nals.map((nal) => `00000001${nal}`).join('')}${index === 0 ? ' key' : ''}`);
      }
      // The first packet stays first: a receiver cannot expect an earlier one.
      const [begin, ...rest] = packets.flatMap((packet, index) => [
        { packet, place: index === 0 ? -1 : index + places.next().value },
        { packet, place: index + places.next().value },
      ]);
      for (const { packet } of [begin, ...rest.sort((one, other) => one.place - other.place)].flatMap(
        (arrival) => arrival ?? [],
      ))
        scene.push(packet);
      scene.pass(1000);
      assert.deepEqual(scene.video, expected);
      assert.equal(scene.pictureLosses, 0);
    }),
  );
});
