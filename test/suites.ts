/** The suites that need more than Node and npm: `npm run test:with -- NAME ...`. `npm test` skips their folders. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { checkout } from './support/checkout.ts';
import type { DebianTool } from './support/debian-tools.ts';

export interface Suite {
  /** Description after the suite's name in `--help`. */
  readonly about: string;
  readonly tools: readonly DebianTool[];
  readonly flags?: readonly string[];
  /** Files and folders under `test`. Default: the folder with the suite's name. */
  readonly places?: readonly string[];
  /** Major version of Node to install from npm. Default: the current Node. */
  readonly node?: number;
  /** True: runs in a Debian 13, whose C library is newer than that of Debian 12. */
  readonly inDebian13?: true;
  /** Resolves to the reason to skip the suite on this machine; null: it can run. */
  readonly findRefusal?: () => Promise<string | null>;
  /** Installs or checks everything else that the suite needs. Throws with advice. */
  readonly prepare?: () => Promise<void>;
}

const nginxStream = '/etc/nginx/modules-enabled/50-mod-stream.conf';

/** Generous time limit for suites of many processes; only for hangs. */
const patient = ['--test-timeout=900000'];

/**
 * CI has no time for two full runs, so this is a selection for other versions of Node: native modules with a binary per Node
 * (uWebSockets.js, LMDB, FFmpeg, WebRTC), Node's own sockets and threads, and several processes, which accept sleep connections
 * differently than under Node 20. Pure computation is the same under both.
 */
const placesOfEachNode = [
  'unit/gateways/verification',
  'unit/lib',
  'unit/media/codec',
  'unit/media/webrtc',
  'unit/storage/lmdb',
  'e2e/first-start.test.ts',
  'e2e/api.test.ts',
  'e2e/edges.test.ts',
  'e2e/front-ends.test.ts',
  'e2e/upgrade.test.ts',
  'e2e/console.test.ts',
  'e2e/sleep-gateway.test.ts',
  'e2e/sleep-gateway-tls.test.ts',
  'e2e/sleep-sockets.test.ts',
  'e2e/signal-gateway.test.ts',
  'e2e/media-path.test.ts',
  'e2e/webrtc-peer.test.ts',
  'e2e/webhooks.test.ts',
  'e2e/real-ports.test.ts',
];

export const suites: Readonly<Record<string, Suite>> = {
  cluster: {
    about: 'several nodes against a real NATS server',
    tools: ['nats-server'],
    flags: ['--test-concurrency=2', ...patient],
  },
  console: { about: 'the console in a browser, checked with axe', tools: ['chromium'] },
  contract: {
    about: 'docs/openapi.yaml checked by two linters, a validating proxy and a type generator',
    tools: [],
    prepare: async () => (await import('./contract/install-tools.ts')).installContractTools(),
  },
  deploy: {
    about: 'units, image, manifests, alerts and dashboard of deploy/',
    tools: ['systemd-analyze', 'promtool'],
  },
  docs: {
    about: 'every shell block of every page, as it is written',
    tools: ['curl', 'gcc', 'jq', 'make', 'nats-server', 'openssl', 'python3', 'ip'],
    flags: patient,
  },
  examples: {
    about: 'the examples against the signing vectors and a live server',
    tools: ['python3', 'go', 'java', 'javac', 'php', 'curl', 'openssl', 'gcc', 'make'],
  },
  install: {
    about: 'installation of a fresh clone, also with parts missing, and of the packed tarball',
    tools: [],
    flags: patient,
  },
  node22: {
    about: 'binaries, sockets, threads and processes under Node 22',
    tools: [],
    node: 22,
    places: placesOfEachNode,
  },
  node24: {
    about: 'the same under Node 24, in a Debian 13 that debootstrap makes',
    tools: ['debootstrap'],
    node: 24,
    inDebian13: true,
    findRefusal: async () => (await import('./support/debian-root.ts')).makeDebianRoot(),
    flags: patient,
    places: placesOfEachNode,
    prepare: async () =>
      void execFileSync('npm', ['run', '-s', 'node24'], { cwd: fileURLToPath(checkout), stdio: 'inherit' }),
  },
  pictures: {
    about: 'pictures and sound compared with ffmpeg, djpeg and Chromium',
    tools: ['ffmpeg', 'ffprobe', 'djpeg', 'cjpeg', 'chromium'],
    prepare: async () => void (await import('./support/photographs.ts')).photographs(),
  },
  proxy: {
    about: 'a whole server behind the files of config/proxy',
    tools: ['nginx', 'haproxy'],
    prepare: async () => {
      if (!existsSync(nginxStream))
        throw new Error('nginx has no stream module here: apt-get install libnginx-mod-stream');
    },
  },
  systemd: {
    about: 'the systemd part of deploy/README.md, word for word, in a Debian 13 booted by systemd',
    tools: ['debootstrap', 'nsenter', 'pgrep'],
    node: 22,
    findRefusal: async () => (await import('./systemd/booted-debian.ts')).findBootFault(),
    flags: patient,
  },
};

/** Absolute paths of a suite's files and folders. */
export function placesOf(name: string): string[] {
  const places = suites[name]?.places ?? [name];
  return places.map((place) => fileURLToPath(new URL(`test/${place}`, checkout)));
}

/** Folders that `npm test` skips. */
export const suiteFolders = Object.keys(suites)
  .filter((name) => suites[name]?.places === undefined)
  .flatMap(placesOf);
