/**
 * A Debian 13 in a folder, for tests of a newer C library than that of this machine, and of a first process that is systemd. A
 * process enters it in namespaces of its own; its changes lie in memory and end with it.
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
/** Made once, and used again until the machine clears its temporary files. */
const debianRoot = join(tmpdir(), `reveille-debian-${release}`);
/** A folder in memory for the changes of one process. */
export const changes = `${debianRoot}-changes`;

/** Makes it where it is missing. Null: it is there; else the reason why this machine cannot have or enter one. */
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

/** Null: the command does its work; else its first error, which debootstrap has behind an E. */
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

/** A command in the root, which is its working directory until it calls `chroot .`, behind steps of the same shell. */
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

/** Puts a file or folder of this machine there; both paths are absolute. */
export function bindInDebian(from: string, to = from): string {
  const make = statSync(from).isDirectory()
    ? `mkdir -p ".${to}"`
    : `mkdir -p ".${dirname(to)}"; touch ".${to}"`;
  return `${make}; mount --bind "${from}" ".${to}"`;
}

/** The command that runs `node ARGUMENT...` there, in the checkout at the path that it has here. `file`: of Node, of this machine. */
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

/** The npm of this machine, for whichever Node is there. */
export function npmInDebian(): string {
  const modules = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim();
  return [
    bindInDebian(join(modules, 'npm'), '/usr/local/lib/node_modules/npm'),
    'ln -s ../lib/node_modules/npm/bin/npm-cli.js usr/local/bin/npm',
  ].join('\n');
}
