/**
 * Finds the picture in an MJPEG payload: senders add junk before and after it, omit its end, or begin the next one after it. Also
 * measures its decoding work, and whether all scans are present, without decoding it. Source: ITU-T T.81, B.1, B.2 and G.1;
 * calls-and-media.md, Legs and Resolution.
 */
import type { Size } from '../../model/call.ts';
import { jpegFrameHeadersMax, jpegScansMax, jpegTableBytesMax } from '../../model/media/decoding-limits.ts';
import type { UndecodableCause } from '../../model/media/picture.ts';
import { endOfImage, frameSize, isFrameHeader, startOfImage, startOfScan, wordAt } from './jpeg.ts';

const huffmanTables = 0xc4;
const progressiveFrame = 0xc2;
/** The frame header of JPEG-LS, which FFmpeg decodes as well. */
const losslessFrame = 0xf7;
/** All markers except those that occur within scan data. */
const markers = /\xff[\xc0-\xcf\xd8-\xfe]/g;

export interface JpegPicture {
  /** From its start to its end; a view. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly size: Size | null;
  /** Columns or rows of luma to one of chroma, whichever are more. */
  readonly chromaStep: number;
}

/** The first picture with an end; without one, the first and the last picture that may be complete. */
type FoundJpeg =
  | { readonly isEnded: true; readonly pictures: readonly [JpegPicture] }
  | { readonly isEnded: false; readonly pictures: readonly JpegPicture[] };

/** Finds the pictures worth decoding. A picture whose scan contains another start has no end. */
export function findJpeg(bytes: Uint8Array<ArrayBuffer>): FoundJpeg | UndecodableCause | 'undecodable' {
  const work = new JpegWork();
  const unended: JpegPicture[] = [];
  let picture: OpenPicture | null = null;
  let segmentEnd = 0;
  // As text, because a regular expression scans the data twice as fast as a loop.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  for (const { index } of text.matchAll(markers)) {
    const at = index + 2;
    const marker = bytes[index + 1] ?? 0;
    // Markers within segments count, because decoders find them there, too.
    work.add(marker, wordAt(bytes, at));
    if (work.isTooMuch) return 'too_costly';
    if (index < segmentEnd) continue;
    if (marker === startOfImage) {
      if (picture?.hasAllScans === true) unended.push(picture.end(index));
      if (picture?.hasScan !== false) picture = new OpenPicture(bytes, index);
    } else if (marker !== endOfImage) {
      picture?.addSegment(marker, at);
      segmentEnd = at + Math.max(wordAt(bytes, at), 2);
    } else if (picture?.hasScan === true) return { isEnded: true, pictures: [picture.end(at)] };
  }
  if (picture?.hasScan !== true) return 'undecodable';
  if (picture.hasAllScans) unended.push(picture.end(bytes.length));
  return { isEnded: false, pictures: [...new Set([...unended.slice(0, 1), ...unended.slice(-1)])] };
}

class JpegWork {
  #scans = 0;
  #frameHeaders = 0;
  #tableBytes = 0;

  add(marker: number, length: number): void {
    if (marker === startOfScan) this.#scans += 1;
    else if (marker === huffmanTables) this.#tableBytes += Math.max(length, 2);
    else if (isFrameHeader(marker) || marker === losslessFrame) this.#frameHeaders += 1;
  }

  get isTooMuch(): boolean {
    return (
      this.#scans > jpegScansMax ||
      this.#frameHeaders > jpegFrameHeadersMax ||
      this.#tableBytes > jpegTableBytesMax
    );
  }
}

class OpenPicture {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #from: number;
  #frameAt: number | null = null;
  #isProgressive = false;
  readonly #scansAt: number[] = [];

  constructor(bytes: Uint8Array<ArrayBuffer>, from: number) {
    this.#bytes = bytes;
    this.#from = from;
  }

  get hasScan(): boolean {
    return this.#scansAt.length > 0;
  }

  addSegment(marker: number, at: number): void {
    if (marker === startOfScan) this.#scansAt.push(at);
    if (!isFrameHeader(marker)) return;
    this.#frameAt = at;
    this.#isProgressive = marker === progressiveFrame;
  }

  end(to: number): JpegPicture {
    const size = this.#frameAt === null ? null : frameSize(this.#bytes, this.#frameAt);
    return { bytes: this.#bytes.subarray(this.#from, to), size, chromaStep: this.#chromaStep };
  }

  /** Id, sampling factors and quantiser number of each component. */
  get #components(): Uint8Array[] {
    const at = (this.#frameAt ?? 0) + componentsAt;
    const count = this.#frameAt === null ? 0 : (this.#bytes[at - 1] ?? 0);
    return Array.from({ length: count }, (_, index) =>
      this.#bytes.subarray(at + 3 * index, at + 3 * index + 3),
    );
  }

  get #chromaStep(): number {
    const factors = this.#components.map(([, factor = 0x11]) => [factor >> 4, factor & 15] as const);
    const [columns, rows] = [factors.map(([column]) => column), factors.map(([, row]) => row)];
    return Math.max(1, ...[columns, rows].map((each) => Math.max(...each) / Math.max(1, Math.min(...each))));
  }

  /** Every coefficient of every component is present to its last bit. */
  get hasAllScans(): boolean {
    if (!this.hasScan) return false;
    const lacking = new Map(this.#components.map(([id = 0]) => [id, new Uint8Array(64).fill(255)]));
    for (const at of this.#scansAt) {
      const count = this.#bytes[at + 2] ?? 0;
      const ids = Array.from({ length: count }, (_, index) => this.#bytes[at + 3 + 2 * index] ?? 0);
      const [first = 0, last = 0, bits = 0] = this.#bytes.subarray(at + 3 + 2 * count);
      for (const id of ids)
        if (this.#isProgressive) lacking.get(id)?.fill(bits & 15, first, last + 1);
        else lacking.get(id)?.fill(0);
    }
    return Array.from(lacking.values()).every((coefficients) => coefficients.every((bits) => bits === 0));
  }
}

/** Bytes of length, precision, height, width and number of components in a frame header. */
const componentsAt = 8;
