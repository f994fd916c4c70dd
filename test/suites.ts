/** The suites that need more than Node and npm: `npm run test:with -- NAME ...`. `npm test` leaves their folders out. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { checkout } from './support/checkout.ts';
import type { DebianTool } from './support/debian-tools.ts';

export interface Suite {
  /** Behind the suite's name in `--help`. */
  readonly about: string;
  readonly tools: readonly DebianTool[];
  /** Flags of test/run.ts. */
  readonly flags?: readonly string[];
  /** Files and folders under `test`, where they are not the folder of the suite's name. */
  readonly places?: readonly string[];
  /** Another Node than this one, which npm brings. */
  readonly node?: number;
  /** It runs in a Debian 13, whose C library is newer than that of Debian 12. */
  readonly inDebian13?: true;
  /** Resolves to the reason why this machine permits nothing of the suite, which is skipped then; null: it may run. */
  readonly findRefusal?: () => Promise<string | null>;
  /** Brings or checks all else that the suite needs. Throws with advice. */
  readonly prepare?: () => Promise<void>;
}

const nginxStream = '/etc/nginx/modules-enabled/50-mod-stream.conf';

/** Long enough for suites of many processes; for hangs alone. */
const patient = ['--test-timeout=900000'];

/**
 * A whole run takes minutes that CI does not have twice, so this is a choice: what touches a binary that is another for each
 * Node (uWebSockets.js, LMDB, FFmpeg, WebRTC), sockets and threads of Node's own, and several processes, which accept sleep
 * connections in another way than under Node 20. Code that only computes is the same under both.
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
  console: { about: 'the console in a browser, held against axe', tools: ['chromium'] },
  contract: {
    about: 'docs/openapi.yaml as two linters, a validating proxy and a maker of types read it',
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
    about: 'a fresh clone installed, also with parts missing, and the packed tarball',
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
    about: 'pictures and sound beside ffmpeg, djpeg and Chromium',
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
    about: 'the part on systemd of deploy/README.md, word for word, in a Debian 13 booted with systemd',
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

/** The folders that `npm test` leaves out. */
export const suiteFolders = Object.keys(suites)
  .filter((name) => suites[name]?.places === undefined)
  .flatMap(placesOf);
