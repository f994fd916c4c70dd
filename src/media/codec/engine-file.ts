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
/** In the header of a 64-bit file: where its table of sections begins, and the size and number of what is in it. */
const [tableAt, sectionBytesAt, sectionsAt] = [40, 58, 60];

/** True: the file ends before its table of sections does, which is the last in an ELF file. */
export function isCutShort(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(elfHeaderBytes);
    const read = readSync(file, header, 0, elfHeaderBytes, 0);
    if (read < elfHeaderBytes || header.readUInt32BE(0) !== elfMagic) return false;
    const tableBytes = header.readUInt16LE(sectionBytesAt) * header.readUInt16LE(sectionsAt);
    return fstatSync(file).size < Number(header.readBigUInt64LE(tableAt)) + tableBytes;
  } finally {
    closeSync(file);
  }
}
