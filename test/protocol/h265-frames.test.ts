/**
 * What an encoder of H.265 writes. The sequence parameter sets are of `ffmpeg -f lavfi -i testsrc=size=…:rate=15
 * -frames:v 3 -pix_fmt … -c:v libx265` (FFmpeg 5.1) with the options named, the sizes what `ffprobe` says of these streams.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeCodedFrame } from '../../src/media/geometry/coded-frame.ts';
import { h265 } from '../../src/media/geometry/h265-stream.ts';

const parameterSets: [name: string, size: string, hex: string][] = [
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
for (const [name, expected, hex] of parameterSets)
  test(`a stream of H.265 is ${expected}: ${name}`, () => {
    const { size } = describeCodedFrame(Buffer.from(`00000001${hex}`, 'hex'), h265);
    assert.equal(size && `${size.width}x${size.height}`, expected);
  });

/** `-i color=c=gray:size=32x32`, key frames every second; without their SEI, whose text is long. */
const small = { width: 32, height: 32 };
const sets =
  '0000000140010c01ffff01600000030090000003000003001e9598090000000142010101600000030090000003000003001ea04208596566b932bc05a020000003002000000301e1000000014401c173d089';
const openSets =
  '0000000140010c01ffff01600000030090000003000003001e9280900000000142010101600000030090000003000003001ea042085964ab932bc05a020000030002000003001e10000000014401c173d089';
const frames: [name: string, hex: string, hasKey: boolean, size: typeof small | null][] = [
  ['the first frame, an IDR picture', `${sets}0000012801af1980ee2365fa5c`, true, small],
  ['the second, a P picture', '000000010201d0097e10c633fa44', false, null],
  ['the third, an IDR picture', `${sets}0000012801af1980e883d7ed30`, true, small],
  ['of an open group the third, a CRA picture', `${openSets}0000012a01ac08f5c420e883d7ed30`, true, small],
];
for (const [name, hex, hasKey, size] of frames)
  test(`${name}: ${hasKey ? 'a decoder can start' : 'none can start'}`, () => {
    assert.deepEqual(describeCodedFrame(Buffer.from(hex, 'hex'), h265), { content: 'picture', hasKey, size });
  });
