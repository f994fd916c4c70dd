/** Programs that tests use as an independent check, and the Debian packages that contain them. */
import { spawn, spawnSync } from 'node:child_process';

const packages = {
  ffmpeg: 'ffmpeg',
  ffprobe: 'ffmpeg',
  djpeg: 'libjpeg-turbo-progs',
  cjpeg: 'libjpeg-turbo-progs',
  chromium: 'chromium',
  nginx: 'nginx libnginx-mod-stream',
  haproxy: 'haproxy',
  python3: 'python3',
  go: 'golang-go',
  java: 'default-jdk-headless',
  javac: 'default-jdk-headless',
  php: 'php-cli',
  curl: 'curl',
  openssl: 'openssl',
  gcc: 'gcc',
  jq: 'jq',
  make: 'make',
  'nats-server': 'nats-server',
  'systemd-analyze': 'systemd',
  promtool: 'prometheus',
  debootstrap: 'debootstrap',
  ip: 'iproute2',
  nsenter: 'util-linux',
  pgrep: 'procps',
  zsh: 'zsh',
  fish: 'fish',
} as const;
export type DebianTool = keyof typeof packages;
export const debianTools = Object.keys(packages) as readonly DebianTool[];

/** PATH with the folder that a user's shell may lack. */
export const toolPath = `${process.env['PATH'] ?? ''}:/usr/sbin`;

/** Names of Debian packages, separated by spaces. */
export function packageOf(tool: DebianTool): string {
  return packages[tool];
}

export function isMissing(tool: DebianTool): boolean {
  const env = { ...process.env, PATH: toolPath };
  return spawnSync('sh', ['-c', 'command -v "$0"', tool], { env }).status !== 0;
}

/** The package to install before this tool can be used; null: it is installed. */
export function missingTool(tool: DebianTool): string | null {
  return isMissing(tool) ? `no ${tool} on this machine: apt-get install ${packages[tool]}` : null;
}

/**
 * Runs a tool to its end and resolves to its standard output. Rejects with its standard error when it fails or prints anything
 * there.
 */
export function runTool(
  tool: DebianTool,
  args: readonly string[],
  input: Uint8Array = new Uint8Array(),
): Promise<Buffer> {
  const child = spawn(tool, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  let complaint = '';
  child.stdout.on('data', (piece: Buffer) => output.push(piece));
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (complaint += piece));
  // A tool may exit before it has read its whole input; the exit code shows if that was right.
  child.stdin.on('error', () => undefined).end(input);
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new Error(missingTool(tool) ?? error.message)));
    child.on('close', (code) => {
      if (code === 0 && complaint === '') resolve(Buffer.concat(output));
      else reject(new Error(`${tool} ${args.join(' ')}: exit code ${code}: ${complaint.trim()}`));
    });
  });
}
