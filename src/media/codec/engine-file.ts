/**
 * The file of FFmpeg's binary. Linux maps a truncated file (full disk, interrupted copy) without an error and ends the process with
 * SIGBUS when it is read, so the file is checked before it is loaded.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Null: not installed, or not where npm puts it. */
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
/** Offsets in the header of a 64-bit ELF file: start of the section table, size of an entry, number of entries. */
const [tableAt, sectionBytesAt, sectionsAt] = [40, 58, 60];

/** True: the file ends before the end of its section table, which is last in an ELF file. */
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
