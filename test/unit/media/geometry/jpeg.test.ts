import { test } from 'node:test';
import assert from 'node:assert/strict';
import { jpegSize, quantiserOf } from '../../../../src/media/geometry/jpeg.ts';
import { findJpeg } from '../../../../src/media/geometry/jpeg-picture.ts';

const start = 'ffd8';
/** 74x100. */
const frame = 'c00011080064004a03012200021101031101';
const scan = 'ffda000c03010002110311003f00';

function segment(marker: string, content: string): string {
  return `ff${marker}${(content.length / 2 + 2).toString(16).padStart(4, '0')}${content}`;
}

for (let marker = 0xc0; marker <= 0xcf; marker += 1) {
  const isFrame = ![0xc4, 0xc8, 0xcc].includes(marker);
  test(`0xff${marker.toString(16)} is ${isFrame ? 'a' : 'no'} frame header`, () => {
    const hex = `${start}ff${marker.toString(16)}${frame.slice(2)}${scan}`;
    assert.deepEqual(jpegSize(Buffer.from(hex, 'hex')), isFrame ? { width: 74, height: 100 } : null);
  });
}

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
