/** The header of a leg's frames, byte for byte, and invalid headers. Source: calls-and-media.md, Legs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeFrameHeader,
  encodeFrameHeader,
  type FrameHeader,
} from '../../src/protocol/media/frame-header.ts';

/** Written by hand from the page's table. */
const golden: readonly (readonly [string, FrameHeader])[] = [
  [
    // kind 1, format 1, flags 1, 640 = 0x280, 480 = 0x1e0, 0 ms
    '01 01 0001 0280 01e0 00000000',
    { kind: 'video', format: 'h264', isKeyFrame: true, width: 640, height: 480, timestampMs: 0 },
  ],
  [
    // H.265, no key frame, 1920 = 0x780, 1080 = 0x438, 3 600 000 ms = 0x36ee80
    '01 02 0000 0780 0438 0036ee80',
    { kind: 'video', format: 'h265', isKeyFrame: false, width: 1920, height: 1080, timestampMs: 3_600_000 },
  ],
  [
    // one JPEG whose size is not said, at the last millisecond there is
    '01 03 0001 0000 0000 ffffffff',
    { kind: 'video', format: 'mjpeg', isKeyFrame: true, width: 0, height: 0, timestampMs: 0xffffffff },
  ],
  [
    // I420 of the largest size
    '01 04 0001 ffff ffff 00000001',
    { kind: 'video', format: 'i420', isKeyFrame: true, width: 65_535, height: 65_535, timestampMs: 1 },
  ],
  ['02 01 0000 0000 0000 00000014', { kind: 'audio', format: 'alaw', timestampMs: 20 }],
  ['02 02 0000 0000 0000 00000028', { kind: 'audio', format: 'amr', timestampMs: 40 }],
  ['02 03 0000 0000 0000 80000000', { kind: 'audio', format: 'opus', timestampMs: 0x80000000 }],
  ['02 04 0000 0000 0000 01020304', { kind: 'audio', format: 'pcm', timestampMs: 0x01020304 }],
];

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(' ', ''), 'hex');
}

const payload = bytesOf('00');

for (const [hex, header] of golden)
  test(`${header.kind} ${header.format} is ${hex}`, () => {
    assert.equal(encodeFrameHeader(header).toString('hex'), bytesOf(hex).toString('hex'));
    assert.deepEqual(decodeFrameHeader(Buffer.concat([bytesOf(hex), payload])), { ok: true, value: header });
  });

test('a frame is read where it lies in a larger buffer, as an array of bytes too', () => {
  const [[hex, header] = ['', null]] = golden;
  const large = new Uint8Array(100).fill(0xff);
  large.set(bytesOf(hex), 7);
  assert.deepEqual(decodeFrameHeader(large.subarray(7, 20)), { ok: true, value: header });
});

test('a packet of audio may be marked as a key frame', () => {
  assert.deepEqual(decodeFrameHeader(bytesOf('02 01 0001 0000 0000 00000000 d5')), {
    ok: true,
    value: { kind: 'audio', format: 'alaw', timestampMs: 0 },
  });
});

test('a message without a payload is no frame, and one byte of payload makes it one', () => {
  const [[hex] = ['']] = golden;
  const whole = Buffer.concat([bytesOf(hex), payload]);
  for (let length = 0; length < whole.length; length++)
    assert.deepEqual(decodeFrameHeader(whole.subarray(0, length)), {
      ok: false,
      error: 'a frame is a header of 12 bytes, followed by a payload',
    });
  assert.equal(decodeFrameHeader(whole).ok, true);
});

const wrong: readonly (readonly [string, string, RegExp])[] = [
  ['kind 0', '00 01 0000 0000 0000 00000000', /kind, byte 0/],
  ['kind 3', '03 01 0000 0000 0000 00000000', /kind, byte 0/],
  ['kind 255', 'ff 01 0000 0000 0000 00000000', /kind, byte 0/],
  ['format 0 of video', '01 00 0000 0280 01e0 00000000', /format of video, byte 1/],
  ['format 5 of video', '01 05 0000 0280 01e0 00000000', /format of video, byte 1/],
  ['format 0 of audio', '02 00 0000 0000 0000 00000000', /format of audio, byte 1/],
  ['format 5 of audio', '02 05 0000 0000 0000 00000000', /format of audio, byte 1/],
  ['bit 1 of the flags', '01 01 0002 0280 01e0 00000000', /only bit 0/],
  ['bit 15 of the flags', '01 01 8001 0280 01e0 00000000', /only bit 0/],
  ['a reserved flag of audio', '02 01 0100 0000 0000 00000000', /only bit 0/],
  ['I420 without a width', '01 04 0001 0000 01e0 00000000', /I420/],
  ['I420 without a height', '01 04 0001 0280 0000 00000000', /I420/],
  ['audio with a width', '02 01 0000 0001 0000 00000000', /width and height of audio/],
  ['audio with a height', '02 01 0000 0000 0001 00000000', /width and height of audio/],
];
for (const [name, hex, sentence] of wrong)
  test(`${name} is no frame, and the error states the expected form`, () => {
    const decoded = decodeFrameHeader(Buffer.concat([bytesOf(hex), payload]));
    assert(!decoded.ok);
    assert.match(decoded.error, sentence);
  });
