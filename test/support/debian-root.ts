/**
 * A Debian 13 root in a folder, for tests that need a newer C library than this machine's, or systemd as the first process. A
 * process enters it in namespaces of its own; its changes stay in memory and end with it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toolPath } from './debian-tools.ts';
import { checkout } from './checkout.ts';

const release = 'trixie';
const packages = 'openssl,ca-certificates,procps,sudo,systemd';
/** Made once, and reused until the machine clears its temporary files. */
const debianRoot = join(tmpdir(), `reveille-debian-${release}`);
export const changes = `${debianRoot}-changes`;

/** Makes the root if it is missing. Returns null, or the reason why this machine cannot have or enter one. */
export function makeDebianRoot(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'debootstrap needs root on Linux';
  if (existsSync(debianRoot)) return findFault(enterDebian([], 'chroot . true'));
  const draft = `${debianRoot}-draft`;
  rmSync(draft, { recursive: true, force: true });
  const fault = findFault(['debootstrap', '--variant=minbase', `--include=${packages}`, release, draft]);
  if (fault !== null) return fault;
  writeFileSync(join(draft, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n');
  renameSync(draft, debianRoot);
  return makeDebianRoot();
}

/** Runs a command. Returns null if it succeeds, else its first error, which debootstrap prefixes with E. */
export function findFault([program = '', ...args]: readonly string[]): string | null {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, PATH: toolPath },
    maxBuffer: Infinity,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (status === 0) return null;
  const lines = `${stdout}${stderr}`.trim().split('\n');
  return error?.message ?? lines.find((line) => line.startsWith('E: ')) ?? stderr.split('\n', 1)[0] ?? '';
}

/** A command in the root. `steps`: shell commands before it. The working directory is the root until `chroot .`. */
export function enterDebian(steps: readonly string[], command: string): string[] {
  const layers = `lowerdir=${debianRoot},upperdir=upper,workdir=work`;
  const script = [
    'mount --make-rprivate /',
    `mkdir -p "${changes}"`,
    `mount -t tmpfs tmpfs "${changes}"`,
    `cd "${changes}"`,
    'mkdir upper work',
    `mount -t overlay overlay -o "${layers}" "${debianRoot}"`,
    `cd "${debianRoot}"`,
    ...steps,
    command,
  ].join('\n');
  return ['unshare', '--mount', 'sh', '-ec', script, 'sh'];
}

/** Bind-mounts a file or folder of this machine; both paths are absolute. */
export function bindInDebian(from: string, to = from): string {
  const make = statSync(from).isDirectory()
    ? `mkdir -p ".${to}"`
    : `mkdir -p ".${dirname(to)}"; touch ".${to}"`;
  return `${make}; mount --bind "${from}" ".${to}"`;
}

/**
 * The command that runs `node ARGUMENT...` in the root, with the checkout at the same path. `file`: Node binary of this
 * machine.
 */
export function debianNode(file: string): string[] {
  const folder = fileURLToPath(checkout).replace(/\/$/, '');
  const steps = [
    'mount -t tmpfs tmpfs tmp',
    bindInDebian(folder),
    bindInDebian(file, '/usr/local/bin/node'),
    'mount -t proc proc proc',
    'mount --rbind /dev dev',
  ];
  return enterDebian(steps, `exec chroot . env -C "${folder}" node "$@"`);
}

/** This machine's npm, run by the Node of the root. */
export function npmInDebian(): string {
  const modules = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim();
  return [
    bindInDebian(join(modules, 'npm'), '/usr/local/lib/node_modules/npm'),
    'ln -s ../lib/node_modules/npm/bin/npm-cli.js usr/local/bin/npm',
  ].join('\n');
}
