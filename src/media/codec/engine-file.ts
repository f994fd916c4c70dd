/**
 * The file of FFmpeg's binary. One that is cut short, as a full disk or an interrupted copy leaves it, is mapped without an
 * error on Linux and ends the process with SIGBUS when it is read: it has to be looked at before it is loaded.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';

/** The path; null: there is none, or it is not where npm puts it. */
export function findEngineFile(): string | null {
  try {
    const name = `@seydx/node-av-${process.platform}-${process.arch}/node-av.node`;
    return createRequire(import.meta.url).resolve(name);
  } catch {
    return null;
  }
}

const elfMagic = 0x7f_45_4c_46;
const elfHeaderBytes = 64;
/** Of a 64-bit file, and in its header of a segment. */
const [segmentsAt, segmentBytesAt, segmentCountAt] = [32, 54, 56];
const [offsetAt, lengthAt, segmentBytesMin] = [8, 32, 40];

/** True: the header of an ELF file names segments beyond its end. */
export function isCutShort(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const read = (offset: number, bytes: number): Buffer => {
      const buffer = Buffer.alloc(bytes);
      return buffer.subarray(0, readSync(file, buffer, 0, bytes, offset));
    };
    const header = read(0, elfHeaderBytes);
    if (header.length < elfHeaderBytes || header.readUInt32BE(0) !== elfMagic) return false;
    const [segmentBytes, count] = [header.readUInt16LE(segmentBytesAt), header.readUInt16LE(segmentCountAt)];
    const segments = read(Number(header.readBigUInt64LE(segmentsAt)), segmentBytes * count);
    if (segments.length < segmentBytes * count) return true;
    for (let at = 0; at + segmentBytesMin <= segments.length; at += segmentBytes) {
      const end = segments.readBigUInt64LE(at + offsetAt) + segments.readBigUInt64LE(at + lengthAt);
      if (end > size) return true;
    }
    return false;
  } finally {
    closeSync(file);
  }
}
