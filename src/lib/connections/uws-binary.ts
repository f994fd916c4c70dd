/**
 * Loads uWebSockets.js: the package, with binaries for Node 20 and 22, or the build for later versions that `npm run node24`
 * installs. See docs/adr/0002.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as Uws from 'uWebSockets.js';

type UwsModule = typeof Uws;

/** No installed binary supports this Node on this system. The message is one sentence: the fault and the advice. */
export class MissingBinaryError extends Error {
  readonly fault: string;
  readonly advice: string;

  constructor(fault: string, advice: string) {
    super(`${fault}: ${advice}`);
    this.fault = fault;
    this.advice = advice;
    // Callers print the error; its stack is noise.
    this.stack = this.message;
  }
}

const root = new URL('../../../', import.meta.url);
const load = createRequire(import.meta.url);
const packageName = 'uWebSockets.js';
const laterPackage = fileURLToPath(
  new URL('deploy/node24/node_modules/@btc-vision/uwebsockets.js/uws.js', root),
);
/** The ABIs of Node 20 and 22, and of 24 and 25. */
const packageAbis: ReadonlySet<string> = new Set(['115', '127']);
const laterAbis: ReadonlySet<string> = new Set(['137', '141']);
/** Minimum minor version of glibc 2 for the later build. */
const laterGlibcMinor = 38;

/** Throws a `MissingBinaryError`. */
export function loadUws(): UwsModule {
  for (const file of [...repackedBinaries(), packageName, laterPackage])
    try {
      return load(file) as UwsModule;
    } catch {
      // Not installed, or not for this system.
    }
  return refuseSystem();
}

/**
 * Paths of the repack's binary: its only module cannot be required, since it is an ES module, and does no more than to load this.
 */
function repackedBinaries(): string[] {
  const { platform, arch, versions } = process;
  const name = `uws_${platform}_${arch}_${versions.modules}.node`;
  return (load.resolve.paths(packageName) ?? [])
    .map((folder) => join(folder, packageName, 'dist/bin', name))
    .filter((file) => existsSync(file));
}

function refuseSystem(): never {
  const { platform, arch, versions } = process;
  const glibc = platform === 'linux' ? findGlibc() : null;
  const library = platform === 'linux' ? ` with ${glibc === null ? 'no glibc' : `glibc ${glibc}`}` : '';
  const fault = `uWebSockets.js has no binary for Node ${versions.node} on ${platform}/${arch}${library}`;
  throw new MissingBinaryError(fault, chooseAdvice(versions.modules, platform, glibc));
}

/** `abi`: of Node, a number as text. `glibc`: its version, such as 2.36; null: none. */
export function chooseAdvice(abi: string, platform: NodeJS.Platform, glibc: string | null): string {
  const minor = platform === 'linux' ? Number(glibc?.split('.')[1] ?? -1) : Infinity;
  if (minor >= 0 && packageAbis.has(abi)) return 'npm ci on this machine installs it';
  if (minor >= laterGlibcMinor && laterAbis.has(abi)) return `npm run node24${prefixOption()} installs it`;
  return 'run on Node 20 or 22 on glibc Linux, macOS or Windows, or on Node 24 with glibc 2.38 or later';
}

/** Null: another C library, such as musl. */
function findGlibc(): string | null {
  const { header } = process.report.getReport() as {
    readonly header: { readonly glibcVersionRuntime?: string };
  };
  return header.glibcVersionRuntime ?? null;
}

/** Points npm at this package's folder when the working directory is another. */
function prefixOption(): string {
  const folder = fileURLToPath(root).replace(/[\\/]$/, '');
  return folder === process.cwd() ? '' : ` --prefix ${folder}`;
}
