/**
 * Streams of H.264 and H.265 encoders. The sequence parameter sets are of `ffmpeg -f lavfi -i testsrc=size=…:rate=15 -frames:v 3
 * -pix_fmt … -c:v libx264` and `libx265` (FFmpeg 5.1) with the options named; the sizes are those that `ffprobe` reports.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeCodedFrame } from '../../src/media/geometry/nal-units.ts';
import { h264 } from '../../src/media/geometry/h264-stream.ts';
import { h265 } from '../../src/media/geometry/h265-stream.ts';

type ParameterSet = readonly [name: string, size: string, hex: string];

const parameterSets264: readonly ParameterSet[] = [
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
const parameterSets265: readonly ParameterSet[] = [
  [
    'main, the worked picture of the scaled modes',
    '74x100',
    '42010101600000030090000003000003001ea02881a725e5959a4932bc05a020000003002000000301e1',
  ],
  [
    'main',
    '240x318',
    '42010101600000030090000003000003003ca01e20141f596566924caf0168080000030008000003007840',
  ],
  [
    '1080 of 1088 coded rows',
    '1920x1080',
    '420101016000000300900000030000030078a003c0801107cb965654a4c2f0168080000003008000000784',
  ],
  ['4:2:2', '242x318', '4201010408000003009d0800000300003cb01f20141c9796566924caf0168080000003008000000784'],
  [
    '4:4:4, odd sides',
    '241x319',
    '4201010408000003009e0800000300003c9003e4028388acb2b349265780b4040000030004000003003c20',
  ],
  [
    'no colour, odd sides',
    '243x317',
    '4201010408000003009fc800000300003cc07c8050734996566924caf016c080000003008000000784',
  ],
  [
    'ten bits',
    '176x146',
    '42010102200000030090000003000003001ea01620267c8d96566924caf0168080000003008000000784',
  ],
  [
    'two layers of time: temporal-layers=1',
    '322x240',
    '42010201600000030090000003000003003c0000a00a480f1c9e59598acd24995e02d010000003001000000300f080',
  ],
];

/** `-i color=c=gray:size=32x32`, key frames every second; without their long SEI text. */
const small = { width: 32, height: 32 };
type CodedFrame = readonly [name: string, hex: string, hasKey: boolean, size: typeof small | null];

const sets264 = '000000016742c00ad9096c0440000003004000000783c489920000000168cb83cb20';
const openSets264 = '000000016764000aace425b0110000030001000003001e0f1225120000000168ebe3cb22c0';
const frames264: readonly CodedFrame[] = [
  ['the first frame, an IDR picture', `${sets264}0000016588840df2628001f93aebc0`, true, small],
  ['the second, a P picture', '00000001419a381be580', false, null],
  ['the third, an IDR picture', `${sets264}000001658882037c98a0007e4ebaf0`, true, small],
  [
    'of an open group the first, an IDR picture',
    `${openSets264}00000165888400dffef6f0fe034250967b3f53e1`,
    true,
    small,
  ],
  [
    'its second key frame, an I picture',
    `${openSets264}00000141888a02fffef6aefcdc54a966ac2a7c`,
    false,
    small,
  ],
  ['its B picture', '00000001019e45e423ff6641', false, null],
];

const sets265 =
  '0000000140010c01ffff01600000030090000003000003001e9598090000000142010101600000030090000003000003001ea04208596566b932bc05a020000003002000000301e1000000014401c173d089';
const openSets265 =
  '0000000140010c01ffff01600000030090000003000003001e9280900000000142010101600000030090000003000003001ea042085964ab932bc05a020000030002000003001e10000000014401c173d089';
const frames265: readonly CodedFrame[] = [
  ['the first frame, an IDR picture', `${sets265}0000012801af1980ee2365fa5c`, true, small],
  ['the second, a P picture', '000000010201d0097e10c633fa44', false, null],
  ['the third, an IDR picture', `${sets265}0000012801af1980e883d7ed30`, true, small],
  ['of an open group the third, a CRA picture', `${openSets265}0000012a01ac08f5c420e883d7ed30`, true, small],
];

const formats = [
  { name: 'H.264', syntax: h264, parameterSets: parameterSets264, frames: frames264 },
  { name: 'H.265', syntax: h265, parameterSets: parameterSets265, frames: frames265 },
];
for (const { name: format, syntax, parameterSets, frames } of formats) {
  for (const [name, expected, hex] of parameterSets)
    test(`a stream of ${format} is ${expected}: ${name}`, () => {
      const { size } = describeCodedFrame(Buffer.from(`00000001${hex}`, 'hex'), syntax);
      assert.equal(size && `${size.width}x${size.height}`, expected);
    });
  for (const [name, hex, hasKey, size] of frames)
    test(`${format}, ${name}: ${hasKey ? 'a decoder can start' : 'no decoder can start'}`, () => {
      const described = describeCodedFrame(Buffer.from(hex, 'hex'), syntax);
      assert.deepEqual(described, { content: 'picture', hasKey, size });
    });
}
