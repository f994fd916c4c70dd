/**
 * Descriptors that a child was never meant to have: those of the server that were opened without close-on-exec, as LMDB
 * opens its files. Linux alone hands them down: on macOS the system closes them for every child of Node, and on Windows
 * a handle is inherited by name only. Source: docs/media.md, What the media process holds.
 */
import { closeSync, constants, fstatSync, readdirSync, readFileSync } from 'node:fs';
import { messageOf } from '../../lib/result.ts';

/** Standard input and outputs, and the link. */
const givenDescriptors = 4;
const closeOnExec = 0o2000000;
const descriptorsDirectory = '/proc/self/fd';

/**
 * Closes what this process was not given, before it reads a byte of a stranger's. Throws, with a sentence for the
 * operator, when it cannot: then it must not go on.
 */
export function closeInherited(): void {
  if (process.platform !== 'linux') return;
  for (const descriptor of inheritedDescriptors()) tryClose(descriptor);
  const left = inheritedDescriptors();
  if (left.length > 0)
    throw new Error(
      `the media process holds descriptors of its server and cannot close them: ${left.join(', ')}`,
    );
}

function inheritedDescriptors(): number[] {
  try {
    return readdirSync(descriptorsDirectory)
      .map(Number)
      .filter((descriptor) => descriptor >= givenDescriptors && isInherited(descriptor));
  } catch (error) {
    throw new Error(`the media process cannot tell which descriptors it has: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Node opens files to close on exec: a descriptor that does not has come from the server. Node marks the lowest descriptors so as well
 * when it starts; a file among them that is open both ways is the server's too, since Node itself only reads files by now.
 */
function isInherited(descriptor: number): boolean {
  try {
    const flags = flagsOf(descriptor);
    const isBothWays = (flags & constants.O_RDWR) !== 0 && fstatSync(descriptor).isFile();
    return isBothWays || (flags & closeOnExec) === 0;
  } catch (error) {
    // Closed since it was listed, as the list itself is.
    if (isBadDescriptor(error)) return false;
    throw error;
  }
}

function flagsOf(descriptor: number): number {
  const text = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
  const flags = /^flags:\s*([0-7]+)$/m.exec(text)?.[1];
  if (flags === undefined) throw new Error(`/proc/self/fdinfo/${descriptor} tells no flags`);
  return Number.parseInt(flags, 8);
}

function tryClose(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // It is looked at again.
  }
}

function isBadDescriptor(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EBADF' || error.code === 'ENOENT');
}
