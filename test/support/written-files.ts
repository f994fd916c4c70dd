/** The files that processes write, as /proc tells of them, and a search of files for what must not be in them. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const accessMode = 0o3;

/** Of regular files that the process has open to write to, removed ones among them: paths by which they can be read. */
export function filesOpenToWrite(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`)
    .filter((descriptor) => isWritten(pid, descriptor))
    .map((descriptor) => `/proc/${pid}/fd/${descriptor}`);
}

function isWritten(pid: number, descriptor: string): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8'))?.[1];
    const isWritable = (Number.parseInt(flags ?? '', 8) & accessMode) !== 0;
    return isWritable && statSync(`/proc/${pid}/fd/${descriptor}`).isFile();
  } catch {
    // Closed meanwhile.
    return false;
  }
}

/** Regular files of the folder and of those in it. */
export function filesIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Those of the files that any of the marks is in. */
export function filesWith(files: readonly string[], marks: readonly Buffer[]): string[] {
  return files.filter((file) => {
    const content = readFileSync(file);
    return marks.some((mark) => content.includes(mark));
  });
}

/** Bytes that the process has written to storage. */
export function storageBytes(pid: number): number {
  const bytes = /^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1];
  if (bytes === undefined) throw new Error('/proc tells no bytes written');
  return Number(bytes);
}
