/** Pictures that cost a decoder far more than their size: endless scans, slices and tables. */
import assert from 'node:assert/strict';
import type { Engine } from '../../src/media/codec/engine.ts';
import { h265 } from '../../src/media/geometry/h265-stream.ts';
import { splitNalUnits } from '../../src/media/geometry/nal-units.ts';
import type { SourceFrame } from '../../src/model/media/picture.ts';
import { BitWriter } from './bit-writer.ts';
import { h265Film, sourceFrame } from './coded-frames.ts';
import { h264ParameterSet } from './parameter-sets.ts';

function segment(marker: number, content: readonly number[]): Buffer {
  const length = content.length + 2;
  return Buffer.from([0xff, marker, length >> 8, length & 0xff, ...content]);
}

const jpegStart = Buffer.of(0xff, 0xd8);
const jpegEnd = Buffer.of(0xff, 0xd9);
const quantisers = segment(0xdb, [0, ...Array<number>(64).fill(1)]);
const jpegHeader = segment(0xc2, [8, 1080 >> 8, 1080 & 0xff, 1920 >> 8, 1920 & 0xff, 1, 1, 0x11, 0]);
/** Huffman tables with one code of one bit: no difference for DC; for AC a run of 2^14 blocks and more. */
const tables = segment(0xc4, [
  0,
  1,
  ...Array<number>(15).fill(0),
  0,
  0x10,
  1,
  ...Array<number>(15).fill(0),
  0xe0,
]);
const blocks = Math.ceil(1920 / 8) * Math.ceil(1080 / 8);
const firstScan = Buffer.concat([segment(0xda, [1, 1, 0, 0, 0, 0]), Buffer.alloc(Math.ceil(blocks / 8))]);
/** An AC scan that covers all blocks in two bytes of data. */
const acScan = Buffer.concat([segment(0xda, [1, 1, 0, 1, 63, 0]), Buffer.of(0x7f, 0xfe)]);

export function jpegOfScans(scans: number): SourceFrame {
  const further = Array<Buffer>(scans - 1).fill(acScan);
  return jpegOf(quantisers, tables, jpegHeader, firstScan, ...further);
}

/** Each header makes the decoder clear its memory of a whole picture. */
export function jpegOfHeaders(headers: number): SourceFrame {
  return jpegOf(quantisers, tables, ...Array<Buffer>(headers).fill(jpegHeader), firstScan, acScan);
}

export function jpegOfTables(segments: number): SourceFrame {
  return jpegOf(quantisers, ...Array<Buffer>(segments).fill(tables), jpegHeader, firstScan, acScan);
}

function jpegOf(...parts: readonly Buffer[]): SourceFrame {
  return sourceFrame('mjpeg', Buffer.concat([jpegStart, ...parts, jpegEnd]));
}

const macroblocks = [120, 68] as const;
const macroblockCount = macroblocks[0] * macroblocks[1];

/** A picture parameter set: CAVLC, one slice group, no deblocking. */
function h264PictureSet(): Buffer {
  const bits = new BitWriter().unsigned(0, 0).fixed(0, 2).unsigned(0, 0, 0).fixed(0, 3).signed(0, 0, 0);
  return bits.fixed(0b100, 3).nalUnit([0x68]);
}

export function h264Key(...more: readonly Buffer[]): SourceFrame {
  const bits = new BitWriter().unsigned(0, 7, 0).fixed(0, 8).unsigned(0).fixed(0, 2).signed(0).unsigned(1);
  // Macroblocks predicted as a whole from their mean, without residual.
  for (let i = 0; i < macroblockCount; i += 1) bits.unsigned(3, 0).signed(0).fixed(1, 1);
  const set = h264ParameterSet({ macroblocks, crop: [0, 0, 0, 4] });
  return sourceFrame('h264', Buffer.concat([set, h264PictureSet(), ...more, bits.nalUnit([0x65])]));
}

/** A slice that repeats the previous picture, from macroblock `from` to the end. */
function h264Skipped(frameNumber: number, from: number): Buffer {
  const bits = new BitWriter().unsigned(from, 0, 0).fixed(frameNumber, 8).fixed(0, 3).signed(0).unsigned(1);
  return bits.unsigned(macroblockCount - from).nalUnit([0x41]);
}

/** `begins`: first macroblock of each slice; each slice extends to the end of the picture. */
export function h264OfSlices(frameNumber: number, begins: readonly number[], ...more: Buffer[]): SourceFrame {
  const slices = begins.map((from) => h264Skipped(frameNumber, from));
  return sourceFrame('h264', Buffer.concat([...more, ...slices]));
}

/**
 * Bidirectional slices from a macroblock to the end, as many as the limits of a 1 MiB frame allow; filler bytes pad it. Within
 * the limits it costs a decoder about a second.
 */
export function h264Overdue(frameNumber: number): SourceFrame {
  const slices = Array.from({ length: 760 }, (_, n) => {
    const bits = new BitWriter()
      .unsigned(n * 10, 1, 0)
      .fixed(frameNumber, 8)
      .fixed(0b1000, 4);
    return bits
      .signed(0)
      .unsigned(0)
      .signed(0, 0)
      .unsigned(macroblockCount - n * 10)
      .nalUnit([0x01]);
  });
  const filler = Buffer.concat([Buffer.of(0, 0, 1), Buffer.alloc(1_020_000, 0x46)]);
  return sourceFrame('h264', Buffer.concat([...slices, filler]));
}

export const tinyH264Set = h264ParameterSet({ macroblocks: [1, 1], id: 1 });
/** Bits before the id in an H.265 sequence parameter set. */
const bitsBeforeId = 104;

/** An additional sequence parameter set, for pictures of one block, that no slice refers to. */
export function tinyH265Set(engine: Engine): Buffer {
  const [key] = h265Film(engine, { width: 64, height: 64 }, 1, 1, ':ctu=64');
  const set = splitNalUnits(key?.payload ?? new Uint8Array()).find(
    (unit) => h265.kindOf(unit, 0) === 'sequence',
  );
  assert(set !== undefined);
  const bits = rawBits(set);
  assert.equal(bits[bitsBeforeId], '1');
  return nalUnitOf(set, `${bits.slice(0, bitsBeforeId)}010${bits.slice(bitsBeforeId + 1)}`);
}

/** 256 blocks of 64, so that a slice address takes one byte. */
const h265Size = { width: 1024, height: 1024 };

/** A key frame, and a frame whose slices each extend to the end of the picture; `more` precedes them. */
export function h265OfSlices(engine: Engine, begins: readonly number[], ...more: Buffer[]): SourceFrame[] {
  const [key, next] = h265Film(engine, h265Size, 2, 2, ':qp=51:ctu=64:wpp=0');
  const whole = splitNalUnits(next?.payload ?? new Uint8Array()).find(
    (unit) => h265.kindOf(unit, 0) === 'slice',
  );
  assert(key !== undefined && whole !== undefined);
  const slices = begins.map((from) => h265SliceFrom(whole, from));
  return [key, sourceFrame('h265', Buffer.concat([...more, ...slices]))];
}

/** Copies a slice to another address, which follows the first-slice flag and the parameter set id. */
function h265SliceFrom(whole: Uint8Array, from: number): Buffer {
  const bits = rawBits(whole);
  assert(bits.startsWith('11'));
  return nalUnitOf(whole, from === 0 ? bits : `01${from.toString(2).padStart(8, '0')}${bits.slice(2)}`);
}

/** Payload bits of a NAL unit, without emulation prevention bytes. */
function rawBits(unit: Uint8Array): string {
  const isKept = (byte: number, at: number): boolean => byte !== 3 || unit[at] !== 0 || unit[at + 1] !== 0;
  return Array.from(unit.subarray(2), (byte, at) =>
    isKept(byte, at) ? byte.toString(2).padStart(8, '0') : '',
  ).join('');
}

function nalUnitOf(header: Uint8Array, bits: string): Buffer {
  const writer = new BitWriter();
  for (const bit of bits.slice(0, bits.lastIndexOf('1'))) writer.fixed(Number(bit), 1);
  return writer.nalUnit(Array.from(header.subarray(0, 2)));
}
