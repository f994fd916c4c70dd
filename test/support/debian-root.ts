/**
 * A Debian 13 in a folder, for tests of a newer C library than that of this machine. A process enters it in a mount namespace of
 * its own, with the checkout at the path that it has here, and its temporary files end with it.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolPath } from './debian-tools.ts';
import { checkout } from './checkout.ts';

const release = 'trixie';
const packages = 'openssl,ca-certificates,procps,iproute2,git,systemd';
/** Made once, and used again until the machine clears its temporary files. */
export const debianRoot = join(tmpdir(), `reveille-debian-${release}`);
const env = { ...process.env, PATH: toolPath };

/** Makes it where it is missing. Null: it is there; else the reason why this machine cannot have one. */
export function makeDebianRoot(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'debootstrap needs root on Linux';
  const draft = `${debianRoot}-draft`;
  const options = ['--variant=minbase', `--include=${packages}`, release, draft];
  try {
    execFileSync('unshare', ['--mount', '--fork', 'true'], { stdio: 'ignore' });
    if (existsSync(debianRoot)) return null;
    rmSync(draft, { recursive: true, force: true });
    execFileSync('debootstrap', options, { env, stdio: ['ignore', 'ignore', 'inherit'] });
    writeFileSync(join(draft, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n');
    renameSync(draft, debianRoot);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The Node that runs there. `file`: of this machine. */
export function putNode(file: string): void {
  copyFileSync(file, join(debianRoot, 'usr/local/bin/node'));
}

/** The command that runs `node ARGUMENT...` there, to which the arguments are added. */
export function debianNode(): string[] {
  const folder = fileURLToPath(checkout).replace(/\/$/, '');
  const script = [
    'mount --make-rprivate /',
    `mount -t tmpfs tmpfs "${debianRoot}/tmp"`,
    `mkdir -p "${debianRoot}${folder}"`,
    `mount --bind "${folder}" "${debianRoot}${folder}"`,
    `mount -t proc proc "${debianRoot}/proc"`,
    `mount --rbind /dev "${debianRoot}/dev"`,
    `exec chroot "${debianRoot}" env -C "${folder}" node "$@"`,
  ].join(' && ');
  return ['unshare', '--mount', '--fork', 'sh', '-c', script, 'sh'];
}
