/**
 * Photographs of a Debian wallpaper package, for tests that need camera images. They are never committed: if the package is not
 * installed, it is downloaded once into the user's cache directory.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const packageName = 'mate-backgrounds';
const folder = 'usr/share/backgrounds/mate/nature';
/** Leaves, sky, sand, petals and feathers: fine and coarse, pale and saturated. */
const names = ['GreenMeadow', 'Storm', 'Dune', 'YellowFlower', 'LadyBird'];

/** Paths of JPEG files. Throws, with what to do, when there are none and the download fails. */
export function photographs(): string[] {
  const cached = join(cacheDirectory(), packageName);
  const root = ['/', cached].find((root) => existsSync(join(root, folder)));
  if (root === undefined) download(cached);
  return names.map((name) => join(root ?? cached, folder, `${name}.jpg`));
}

function cacheDirectory(): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'reveille-tests');
}

/** Moves the folder into place in one step, so that another run finds all of it or nothing. */
function download(place: string): void {
  mkdirSync(cacheDirectory(), { recursive: true });
  const work = mkdtempSync(join(cacheDirectory(), 'download-'));
  try {
    run('apt-get', ['download', '-qq', packageName], work);
    const file = readdirSync(work).find((name) => name.endsWith('.deb')) ?? '';
    run('dpkg-deb', ['-x', file, 'unpacked'], work);
    if (!existsSync(place)) renameSync(join(work, 'unpacked'), place);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function run(command: string, args: readonly string[], directory: string): void {
  const { status, stderr, error } = spawnSync(command, args, { cwd: directory, encoding: 'utf8' });
  if (status === 0) return;
  throw new Error(
    `no photographs: ${error?.message ?? stderr.trim()}; run apt-get update and try again, or apt-get install ${packageName}`,
  );
}
