/**
 * Facts from this package's package.json, in a checkout and in a build: its version and the supported versions of Node.
 * Unsupported versions of Node load this module too, so it imports as little as possible.
 */
import { readFileSync } from 'node:fs';

interface PackageFile {
  readonly version: string;
  /** Version ranges such as `^20.12 || ^22`. */
  readonly engines: { readonly node: string };
}

export function readVersion(): string {
  return readPackageFile().version;
}

/** `untested`: newer than the oldest supported version, but not supported. `version`: such as 22.23.3. */
export type NodeSupport = 'supported' | 'untested' | 'too-old';

export function findNodeSupport(version: string): NodeSupport {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const ranges = readNodeRanges();
  if (ranges.some((range) => range.major === major && range.minor <= minor)) return 'supported';
  const [oldest] = ranges;
  return oldest !== undefined && major <= oldest.major ? 'too-old' : 'untested';
}

/** Such as `20.12+, 22 or 24`. */
export function supportedNodes(): string {
  const names = readNodeRanges().map(({ major, minor }) => (minor === 0 ? `${major}` : `${major}.${minor}+`));
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

/** Oldest first. */
function readNodeRanges(): { readonly major: number; readonly minor: number }[] {
  const ranges = readPackageFile().engines.node.matchAll(/\^(\d+)(?:\.(\d+))?/g);
  return Array.from(ranges, ([, major, minor = 0]) => ({ major: Number(major), minor: Number(minor) }));
}

function readPackageFile(): PackageFile {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as PackageFile;
}
