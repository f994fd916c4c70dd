import { test } from 'node:test';
import assert from 'node:assert/strict';
import { jpegSize, quantiserOf } from '../../../../src/media/geometry/jpeg.ts';
import { findJpeg } from '../../../../src/media/geometry/jpeg-picture.ts';

const start = 'ffd8';
const app0 = 'ffe000104a46494600010100000100010000';
const thumbnail = 'ffd8ffc00011080078009c03012200021101031101ffd9';
/** 74x100. */
const frame = 'c00011080064004a03012200021101031101';
const scan = 'ffda000c03010002110311003f00';

function segment(marker: string, content: string): string {
  return `ff${marker}${(content.length / 2 + 2).toString(16).padStart(4, '0')}${content}`;
}

const jpegs: [hex: string, why: string][] = [
  [`${start}ff${frame}${scan}`, 'a frame header at once'],
  [`${start}${app0}ff${frame}${scan}`, 'one behind a segment'],
  [`${start}ffffffff${frame}${scan}`, 'fill bytes before its marker'],
  [`${start}ffff${app0}ffff${frame}`, 'fill bytes before all markers'],
  [`${start}${segment('e1', `457869660000${thumbnail}`)}ff${frame}`, 'a thumbnail in a segment before it'],
  [`${start}${segment('fe', 'ff'.repeat(300))}ff${frame}`, 'a comment of nothing but 0xff'],
  [`${start}${segment('c4', '00')}ff${frame}`, 'Huffman tables before it'],
  [`${start}${segment('c8', '00')}ff${frame}`, 'an extension before it'],
  [`${start}${segment('cc', '0010')}ff${frame}`, 'arithmetic conditioning before it'],
  [`${start}ffd0ffd7ff01ffd8ff${frame}`, 'markers without a segment before it'],
  [`${start}${segment('dd', '0004')}ff${frame}`, 'a restart interval before it'],
  [`${start}0000aaff00bbff${frame}`, 'bytes before it that are no marker'],
  [`${start}ffe00000ff${frame}`, 'a segment before it whose length is too small for itself'],
  [`${start}ff${frame}ff${frame.replace('0064004a', '00010001')}`, 'another one behind it'],
  [`00d8${start}ff${frame}`, 'bytes before its start'],
];
for (const [hex, why] of jpegs)
  test(`a JPEG of 74x100 is one with ${why}`, () => {
    assert.deepEqual(jpegSize(Buffer.from(hex, 'hex')), { width: 74, height: 100 });
  });

for (let marker = 0xc0; marker <= 0xcf; marker += 1) {
  const isFrame = ![0xc4, 0xc8, 0xcc].includes(marker);
  test(`0xff${marker.toString(16)} is ${isFrame ? 'a' : 'no'} frame header`, () => {
    const hex = `${start}ff${marker.toString(16)}${frame.slice(2)}${scan}`;
    assert.deepEqual(jpegSize(Buffer.from(hex, 'hex')), isFrame ? { width: 74, height: 100 } : null);
  });
}

const unknown: [hex: string, why: string][] = [
  ['', 'nothing'],
  ['ff', 'half of a start'],
  [start, 'a start'],
  [`ffd9ff${frame}`, 'an end for a start'],
  [`${start}${app0}ffd9ff${frame}`, 'an end before the frame header'],
  [`${start}${scan}ff${frame}`, 'a scan before the frame header'],
  [`${start}${app0}`, 'no frame header'],
  [`${start}ffffffffff`, 'fill bytes up to the end'],
  [`${start}aaaaaaaa`, 'no marker up to the end'],
  [`${start}ff00ff00`, 'stuffed bytes up to the end'],
  [`${start}ffe0ffff${app0}ff${frame}`, 'a segment that is longer than the rest'],
  [`${start}ffe0`, 'a segment without a length'],
  [`${start}ffe000`, 'a segment with half a length'],
  [`${start}ff${frame.replace('0064004a', '0000004a')}`, 'a height that only the scan tells'],
  [`${start}ff${frame.replace('0064004a', '00640000')}`, 'no width'],
];
for (const [hex, why] of unknown)
  test(`the size of a JPEG is not known with ${why}`, () => {
    assert.equal(jpegSize(Buffer.from(hex, 'hex')), null);
  });

test('the size of a JPEG is known from the last byte of its width on', () => {
  const bytes = Buffer.from(`${start}${app0}ff${frame}`, 'hex');
  const sizeEnd = 2 + 18 + 9;
  for (let length = 0; length <= bytes.length; length += 1)
    assert.equal(jpegSize(bytes.subarray(0, length)) !== null, length >= sizeEnd, `${length} bytes`);
});

const quantisers: [quality: number, qscale: number][] = [
  [100, 1],
  [89, 1],
  [88, 2],
  [82, 2],
  [81, 3],
  [80, 3],
  [75, 3],
  [65, 4],
  [50, 6],
  [25, 11],
  [10, 27],
  [9, 30],
  [8, 31],
  [1, 31],
];
for (const [quality, qscale] of quantisers)
  test(`quality ${quality} is qscale ${qscale}`, () => {
    assert.equal(quantiserOf(quality), qscale);
  });

test('a better quality never has a coarser quantiser', () => {
  for (let quality = 2; quality <= 100; quality += 1)
    assert.ok(quantiserOf(quality) <= quantiserOf(quality - 1), `${quality}`);
});

const tables = segment('c4', '00'.repeat(100));
const bounded: [hex: string, isBounded: boolean, why: string][] = [
  [`${start}ff${frame}${scan.repeat(32)}ffd9`, true, 'as many scans as may be'],
  [`${start}ff${frame}${scan.repeat(33)}ffd9`, false, 'one scan more'],
  [`${start}${segment('e1', scan.repeat(33))}ff${frame}${scan}`, false, 'scans within a segment'],
  [`${start}ff${frame}${scan}${'ff00aa'.repeat(5000)}ffd9`, true, 'stuffed bytes in its data'],
  [`${start}ff${frame}${scan}${'aaffd0'.repeat(5000)}ffd9`, true, 'restart markers in its data'],
  [`${start}${`ff${frame}`.repeat(8)}${scan}`, true, 'thumbnails'],
  [`${start}${`ff${frame}`.repeat(9)}${scan}`, false, 'very many frame headers'],
  [`${start}${`fff7${frame.slice(2)}`.repeat(9)}${scan}`, false, 'very many of JPEG-LS'],
  [`${start}${tables.repeat(160)}ff${frame}${scan}`, true, 'tables for each scan'],
  [`${start}${tables.repeat(161)}ff${frame}${scan}`, false, 'more tables than 16 KiB'],
  [`${start}${'ffc40000'.repeat(9000)}`, false, 'tables whose lengths are nonsense'],
  ['', true, 'nothing'],
  ['ff'.repeat(100_000), true, 'fill bytes alone'],
];
for (const [hex, isBounded, why] of bounded)
  test(`a JPEG with ${why} ${isBounded ? 'may be decoded' : 'costs too much'}`, () => {
    assert.equal(findJpeg(Buffer.from(hex, 'hex')) !== 'too_costly', isBounded);
  });
