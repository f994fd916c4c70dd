/**
 * Sequence parameter sets, field by field as in the tables of the standards: H.264, 7.3.2.1.1, and H.265, 7.3.2.2.1. Fields
 * after the cropping are omitted.
 */
import { BitWriter } from './bit-writer.ts';

/** Left, right, top, bottom, in units of the standard. */
type Edges = readonly [number, number, number, number];

export interface H264Fields {
  readonly references?: number;
  readonly profile?: number;
  readonly id?: number;
  readonly chromaFormat?: number;
  readonly hasSeparatePlanes?: boolean;
  /** One entry per list: its deltas; null: list absent. */
  readonly scaling?: readonly (readonly number[] | null)[];
  readonly pictureOrder?: 0 | 1 | 2;
  /** Offsets of picture order count type 1. */
  readonly cycle?: readonly number[];
  readonly macroblocks: readonly [columns: number, mapRows: number];
  readonly hasFields?: boolean;
  readonly crop?: Edges;
}

const plainProfiles = new Set([66, 77, 88]);

export function h264ParameterSet(fields: H264Fields): Buffer {
  const { profile = 66, pictureOrder = 2, hasFields = false, crop, cycle = [] } = fields;
  const bits = new BitWriter()
    .fixed(profile, 8)
    .fixed(0, 8)
    .fixed(30, 8)
    .unsigned(fields.id ?? 0);
  if (!plainProfiles.has(profile)) writeChroma(bits, fields);
  bits.unsigned(4, pictureOrder);
  if (pictureOrder === 0) bits.unsigned(4);
  if (pictureOrder === 1)
    bits
      .fixed(1, 1)
      .signed(-3, 7)
      .unsigned(cycle.length)
      .signed(...cycle);
  bits.unsigned(fields.references ?? 1).fixed(0, 1);
  bits.unsigned(fields.macroblocks[0] - 1, fields.macroblocks[1] - 1).fixed(hasFields ? 0 : 1, 1);
  if (hasFields) bits.fixed(1, 1);
  bits.fixed(1, 1).fixed(crop === undefined ? 0 : 1, 1);
  if (crop !== undefined) bits.unsigned(...crop);
  return bits.fixed(0, 1).nalUnit([0x67]);
}

function writeChroma(
  bits: BitWriter,
  { chromaFormat = 1, hasSeparatePlanes = false, scaling = [] }: H264Fields,
): void {
  bits.unsigned(chromaFormat);
  if (chromaFormat === 3) bits.fixed(hasSeparatePlanes ? 1 : 0, 1);
  bits
    .unsigned(0, 0)
    .fixed(0, 1)
    .fixed(scaling.length === 0 ? 0 : 1, 1);
  for (const list of scaling) {
    bits.fixed(list === null ? 0 : 1, 1);
    bits.signed(...(list ?? []));
  }
}

export interface H265Fields {
  readonly id?: number;
  /** Reference pictures, including the decoded one. */
  readonly references?: number;
  /** For each sub-layer except the highest: does it have its own profile and level? */
  readonly subLayers?: readonly (readonly [hasProfile: boolean, hasLevel: boolean])[];
  readonly chromaFormat?: number;
  readonly coded: readonly [width: number, height: number];
  readonly crop?: Edges;
  readonly layer?: number;
  /** Side of a coding tree block, pixels; 8 is invalid. If it is set, the fields before it are written as well. */
  readonly blockSide?: 8 | 16 | 32 | 64;
}

export function h265ParameterSet(fields: H265Fields): Buffer {
  const { subLayers = [], chromaFormat = 1, crop, layer = 0, blockSide } = fields;
  const bits = new BitWriter().fixed(0, 4).fixed(subLayers.length, 3).fixed(1, 1);
  writeProfile(bits);
  bits.fixed(90, 8);
  for (const [hasProfile, hasLevel] of subLayers)
    bits.fixed(hasProfile ? 1 : 0, 1).fixed(hasLevel ? 1 : 0, 1);
  if (subLayers.length > 0) for (let i = subLayers.length; i < 8; i += 1) bits.fixed(0, 2);
  for (const [hasProfile, hasLevel] of subLayers) {
    if (hasProfile) writeProfile(bits);
    if (hasLevel) bits.fixed(60, 8);
  }
  bits.unsigned(fields.id ?? 0, chromaFormat);
  if (chromaFormat === 3) bits.fixed(0, 1);
  bits.unsigned(...fields.coded).fixed(crop === undefined ? 0 : 1, 1);
  if (crop !== undefined) bits.unsigned(...crop);
  bits.unsigned(0, 0);
  if (blockSide !== undefined) {
    bits.unsigned(4).fixed(1, 1);
    for (let i = 0; i <= subLayers.length; i += 1) bits.unsigned((fields.references ?? 5) - 1, 2, 0);
    bits.unsigned(0, Math.log2(blockSide) - 3);
  }
  return bits.nalUnit([(33 << 1) | (layer >> 5), ((layer & 31) << 3) | 1]);
}

/** Profile space, tier, profile 1; compatibility flags; four source flags, 43 bits and one. */
function writeProfile(bits: BitWriter): void {
  bits.fixed(1, 8).fixed(0x60000000, 32).fixed(9, 4).fixed(0, 43).fixed(0, 1);
}
