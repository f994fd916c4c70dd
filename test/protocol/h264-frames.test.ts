/**
 * What an encoder of H.264 writes. The sequence parameter sets are of `ffmpeg -f lavfi -i testsrc=size=…:rate=15
 * -frames:v 3 -pix_fmt … -c:v libx264` (FFmpeg 5.1) with the options named, the sizes what `ffprobe` says of these streams.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeCodedFrame } from '../../src/media/geometry/coded-frame.ts';
import { h264 } from '../../src/media/geometry/h264-stream.ts';

const parameterSets: [name: string, size: string, hex: string][] = [
  [
    'baseline, the worked picture of the scaled modes',
    '74x100',
    '6742c00ad9053f927c0440000003004000000783c48992',
  ],
  ['high', '240x320', '6764000cacd943c29b0110000003001000000301e0f1429960'],
  ['1080 of 1088 coded rows', '1920x1080', '6742c028da01e0089f970110000003001000000301e0f1832a'],
  [
    '640x480 less 2, 4, 6 and 8 lines: crop-rect',
    '632x468',
    '67640016acd940a03dd11970110000030001000003001e0f162d96',
  ],
  ['4:2:2', '242x318', '677a000cbcd94100a788bc0440000003004000000783c50a6580'],
  ['4:4:4, odd sides', '241x319', '67f4000c919b282014f08560220000030002000003003c1e28532c'],
  ['no colour, odd sides', '243x317', '6764000cf36504029e3a4c05b20000030002000003003c1e28532c'],
  ['ten bits', '176x146', '676e000ba6cd942c57e230110000030001000003001e0f142996'],
  ['interlaced', '720x576', '6764001eacd940b424d80880000003008000000f0f8a14cb'],
  ['interlaced, 1080 of 1088 coded rows', '1920x1080', '674d4028f403c0227ef0110000030001000003001e1f162ea0'],
  ['scaling lists: cqm=jvt', '320x242', '6764000cacd9414087e230110000030001000003001e0f142996'],
  ['twelve scaling lists: 4:4:4, cqm=jvt', '100x74', '67f4000a919b28e5f1b3e0220000030002000003003c1e244b2c'],
];
for (const [name, expected, hex] of parameterSets)
  test(`a stream of H.264 is ${expected}: ${name}`, () => {
    const { size } = describeCodedFrame(Buffer.from(`00000001${hex}`, 'hex'), h264);
    assert.equal(size && `${size.width}x${size.height}`, expected);
  });

/** `-i color=c=gray:size=32x32`, key frames every second; without their SEI, whose text is long. */
const small = { width: 32, height: 32 };
const sets = '000000016742c00ad9096c0440000003004000000783c489920000000168cb83cb20';
const openSets = '000000016764000aace425b0110000030001000003001e0f1225120000000168ebe3cb22c0';
const frames: [name: string, hex: string, hasKey: boolean, size: typeof small | null][] = [
  ['the first frame, an IDR picture', `${sets}0000016588840df2628001f93aebc0`, true, small],
  ['the second, a P picture', '00000001419a381be580', false, null],
  ['the third, an IDR picture', `${sets}000001658882037c98a0007e4ebaf0`, true, small],
  [
    'of an open group the first, an IDR picture',
    `${openSets}00000165888400dffef6f0fe034250967b3f53e1`,
    true,
    small,
  ],
  ['its second key frame, an I picture', `${openSets}00000141888a02fffef6aefcdc54a966ac2a7c`, false, small],
  ['its B picture', '00000001019e45e423ff6641', false, null],
];
for (const [name, hex, hasKey, size] of frames)
  test(`${name}: ${hasKey ? 'a decoder can start' : 'none can start'}`, () => {
    assert.deepEqual(describeCodedFrame(Buffer.from(hex, 'hex'), h264), { content: 'picture', hasKey, size });
  });
