import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeH265 } from '../../../../src/media/geometry/h265-stream.ts';
import { h265ParameterSet, type H265Fields } from '../../../support/parameter-sets.ts';

function unit(type: number, layer = 0): Buffer {
  return Buffer.from([0, 0, 0, 1, (type << 1) | (layer >> 5), ((layer & 31) << 3) | 1, 0xaf, 0x08]);
}

const small = h265ParameterSet({ coded: [80, 104], crop: [0, 3, 0, 2] });

const sizes: [name: string, fields: H265Fields, size: string | null][] = [
  ['640x480', { coded: [640, 480] }, '640x480'],
  ['74x100', { coded: [80, 104], crop: [0, 3, 0, 2] }, '74x100'],
  ['one cropped on all sides', { coded: [640, 480], crop: [1, 2, 3, 4] }, '634x466'],
  ['4:2:2', { coded: [32, 32], chromaFormat: 2, crop: [1, 0, 1, 0] }, '30x31'],
  ['4:4:4', { coded: [32, 32], chromaFormat: 3, crop: [1, 0, 0, 1] }, '31x31'],
  ['one without colour', { coded: [32, 32], chromaFormat: 0, crop: [1, 0, 0, 1] }, '31x31'],
  ['two layers of time', { coded: [640, 480], subLayers: [[false, false]] }, '640x480'],
  ['two with a profile of its own', { coded: [640, 480], subLayers: [[true, false]] }, '640x480'],
  ['two with a level of its own', { coded: [640, 480], subLayers: [[false, true]] }, '640x480'],
  [
    'seven, of all kinds',
    {
      coded: [640, 480],
      subLayers: [
        [true, true],
        [false, true],
        [true, false],
        [false, false],
        [true, true],
        [false, true],
      ],
    },
    '640x480',
  ],
  ['larger than anything', { coded: [2 ** 32 - 2, 2 ** 32 - 2] }, `${2 ** 32 - 2}x${2 ** 32 - 2}`],
  ['no column', { coded: [0, 480] }, null],
  ['no row', { coded: [640, 0] }, null],
  ['one all cropped away', { coded: [32, 32], crop: [8, 8, 0, 0] }, null],
  ['a chroma format that there is not', { coded: [32, 32], chromaFormat: 4 }, null],
];
for (const [name, fields, size] of sizes)
  test(`the size of ${name} is ${size ?? 'not known'}`, () => {
    const described = describeH265(h265ParameterSet(fields));
    assert.equal(described.size && `${described.size.width}x${described.size.height}`, size);
    assert.equal(described.hasKey, false);
  });

for (let type = 0; type < 32; type += 1)
  test(`a slice of type ${type} is ${type >= 16 && type <= 21 ? 'a' : 'no'} key frame`, () => {
    const { hasKey } = describeH265(Buffer.concat([unit(35), small, unit(type), unit(19)]));
    assert.equal(hasKey, type >= 16 && type <= 21);
  });

test('units that are no slices are passed over', () => {
  for (let type = 32; type < 64; type += 1)
    assert.deepEqual(describeH265(Buffer.concat([unit(type), small, unit(19)])), {
      content: 'picture',
      hasKey: true,
      size: { width: 74, height: 100 },
    });
});

test('what belongs to further layers is passed over', () => {
  for (const layer of [1, 32, 63]) {
    const large = h265ParameterSet({ coded: [640, 480], layer });
    assert.deepEqual(describeH265(Buffer.concat([large, unit(19, layer), unit(1)])), {
      content: 'picture',
      hasKey: false,
      size: null,
    });
  }
});

test('a parameter set cut short anywhere before the end of its cropping tells no size', () => {
  const set = h265ParameterSet({ coded: [640, 480], crop: [0, 0, 0, 63] });
  for (let length = 0; length < set.length - 1; length += 1)
    assert.equal(describeH265(set.subarray(0, length)).size, null, `${length} bytes`);
});

for (const hex of ['0000000142', '0000014200000126', '00000126000001020000010100'])
  test(`half a header of a unit is none: ${hex}`, () => {
    assert.deepEqual(describeH265(Buffer.from(hex, 'hex')), {
      content: 'nothing',
      hasKey: false,
      size: null,
    });
  });

test('parameter sets, messages and further layers are no picture, and what has no number is nothing', () => {
  const contentOf = (...types: number[]): string =>
    describeH265(Buffer.concat(types.map((type) => unit(type)))).content;
  assert.deepEqual([contentOf(32, 33, 34), contentOf(35), contentOf(39, 40)], Array(3).fill('parameters'));
  assert.equal(describeH265(unit(1, 1)).content, 'parameters');
  assert.deepEqual([contentOf(41), contentOf(63)], ['nothing', 'nothing']);
  assert.equal(contentOf(41, 1), 'picture');
});
