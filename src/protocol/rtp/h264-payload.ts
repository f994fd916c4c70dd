/**
 * H.264 in RTP packets, packetization mode 1: NAL units of an access unit to payloads, and payloads back to NAL units. Source:
 * RFC 6184, 5.6, 5.7.1 (STAP-A) and 5.8 (FU-A).
 */
import { rtcAggregateUnitsMax, rtcPiecesMax } from '../../model/media/rtc-limits.ts';

const typeMask = 0x1f;
const stapA = 24;
const fuA = 28;
const unitTypeMax = 23;
/** Slices and their partitions, and slices of auxiliary and further layers. */
const sliceTypes: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 19, 20, 21]);
const keySliceType = 5;
/** Sequence and picture parameter sets, with their extension and subset. */
const parameterTypes: ReadonlySet<number> = new Set([7, 8, 13, 15]);
/** End of sequence, end of stream and filler: they follow the slices of their access unit. */
const trailingTypes: ReadonlySet<number> = new Set([10, 11, 12]);
const startFlag = 0x80;
const endFlag = 0x40;
/** The indicator of a fragment and its own header. */
const fragmentHeaderBytes = 2;
const lengthBytes = 2;

/** `units`: without start codes, none empty. Consecutive small ones share a payload. */
export function packetizeH264(units: readonly Uint8Array[], payloadBytesMax: number): Uint8Array[] {
  const payloads: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  let smallBytes = 1;
  const flush = (): void => {
    if (small.length > 0)
      payloads.push(small.length === 1 && small[0] !== undefined ? small[0] : aggregate(small));
    small = [];
    smallBytes = 1;
  };
  for (const unit of units) {
    const bytes = lengthBytes + unit.length;
    if (smallBytes + bytes > payloadBytesMax) flush();
    if (unit.length > payloadBytesMax) payloads.push(...fragments(unit, payloadBytesMax));
    else {
      small.push(unit);
      smallBytes += bytes;
    }
  }
  flush();
  return payloads;
}

function aggregate(units: readonly Uint8Array[]): Buffer {
  const importance = Math.max(...units.map((unit) => (unit[0] ?? 0) & 0x60));
  const parts: Uint8Array[] = [Uint8Array.of(importance | stapA)];
  for (const unit of units) parts.push(Uint8Array.of(unit.length >> 8, unit.length & 0xff), unit);
  return Buffer.concat(parts);
}

function fragments(unit: Uint8Array, payloadBytesMax: number): Buffer[] {
  const header = unit[0] ?? 0;
  const bytesMax = payloadBytesMax - fragmentHeaderBytes;
  const payloads: Buffer[] = [];
  for (let at = 1; at < unit.length; at += bytesMax) {
    const flags = (at === 1 ? startFlag : 0) | (at + bytesMax >= unit.length ? endFlag : 0);
    const payload = Buffer.allocUnsafe(fragmentHeaderBytes + Math.min(bytesMax, unit.length - at));
    payload[0] = (header & ~typeMask) | fuA;
    payload[1] = flags | (header & typeMask);
    payload.set(unit.subarray(at, at + bytesMax), fragmentHeaderBytes);
    payloads.push(payload);
  }
  return payloads;
}

export function isSlice(unit: Uint8Array): boolean {
  return sliceTypes.has(typeOf(unit));
}

export function isKeySlice(unit: Uint8Array): boolean {
  return typeOf(unit) === keySliceType;
}

export function isParameterSet(unit: Uint8Array): boolean {
  return parameterTypes.has(typeOf(unit));
}

export function isTrailing(unit: Uint8Array): boolean {
  return trailingTypes.has(typeOf(unit));
}

export function hasSlice(payload: Uint8Array): boolean {
  const type = typeOf(payload);
  if (type === fuA) return sliceTypes.has((payload[1] ?? 0) & typeMask);
  return type === stapA ? (splitAggregate(payload)?.some(isSlice) ?? false) : sliceTypes.has(type);
}

function typeOf(unit: Uint8Array): number {
  return (unit[0] ?? 0) & typeMask;
}

/** The NAL units of a STAP-A as views; null: malformed, or too many. */
function splitAggregate(payload: Uint8Array): Uint8Array[] | null {
  const units: Uint8Array[] = [];
  for (let at = 1; at < payload.length;) {
    const length = ((payload[at] ?? 0) << 8) | (payload[at + 1] ?? 0);
    const start = at + lengthBytes;
    at = start + length;
    if (length === 0 || at > payload.length || units.length === rtcAggregateUnitsMax) return null;
    units.push(payload.subarray(start, at));
  }
  return units;
}

/** Collects the NAL units of one access unit from payloads in order without gaps. */
export class H264Assembler {
  readonly #bytesMax: number;
  #units: Uint8Array[] = [];
  /** Parts of a fragmented unit; null: no unit is in progress. */
  #fragments: Uint8Array[] | null = null;
  #bytes = 0;
  #payloads = 0;
  #isBroken = false;

  /** `bytesMax`: of an access unit; a larger one is broken. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  push(payload: Uint8Array): void {
    this.#bytes += payload.length;
    this.#payloads += 1;
    if (this.#bytes > this.#bytesMax || this.#payloads > rtcPiecesMax) this.#isBroken = true;
    if (this.#isBroken || payload.length === 0) return;
    const type = typeOf(payload);
    if (type === fuA) this.#pushFragment(payload);
    else if (this.#fragments !== null || type === 0 || (type > unitTypeMax && type !== stapA))
      this.#isBroken = true;
    else if (type === stapA) this.#pushAggregate(payload);
    else this.#units.push(payload);
  }

  /** Ends the access unit and returns its NAL units, views of the payloads; null: malformed or beyond a limit. */
  end(): Uint8Array[] | null {
    const units = this.#isBroken || this.#fragments !== null ? null : this.#units;
    this.#units = [];
    this.#fragments = null;
    this.#bytes = 0;
    this.#payloads = 0;
    this.#isBroken = false;
    return units;
  }

  #pushAggregate(payload: Uint8Array): void {
    const units = splitAggregate(payload);
    if (units === null || this.#units.length + units.length > rtcPiecesMax) this.#isBroken = true;
    else this.#units.push(...units);
  }

  #pushFragment(payload: Uint8Array): void {
    const [indicator = 0, header = 0] = payload;
    const isStart = (header & startFlag) !== 0;
    if (payload.length <= fragmentHeaderBytes || isStart !== (this.#fragments === null)) {
      this.#isBroken = true;
      return;
    }
    this.#fragments ??= [Uint8Array.of((indicator & ~typeMask) | (header & typeMask))];
    this.#fragments.push(payload.subarray(fragmentHeaderBytes));
    if ((header & endFlag) === 0) return;
    this.#units.push(Buffer.concat(this.#fragments));
    this.#fragments = null;
  }
}

const startCode = Uint8Array.of(0, 0, 0, 1);

/** In memory of its own. */
export function joinAnnexB(units: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = units.reduce((sum, unit) => sum + startCode.length + unit.length, 0);
  const joined = new Uint8Array(bytes);
  let at = 0;
  for (const unit of units) {
    joined.set(startCode, at);
    joined.set(unit, at + startCode.length);
    at += startCode.length + unit.length;
  }
  return joined;
}
