/** Starts the soak's media process for its server, and samples it from outside. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../../src/lib/module-worker.ts';
import { assert } from '../../../src/lib/assert.ts';
import { forkOf, streamAt } from '../../../src/server/children/child-fork.ts';
import type { MediaCarrier } from '../../../src/server/children/media-child.ts';
import { anonymousBytesOf, descriptorsOf } from '../../support/process-samples.ts';
import type { MediaSample } from './media-process.ts';

const file = fileURLToPath(moduleBeside('./media-process', import.meta.url));

/** Kinds of resources of the process: native objects of all workers, and its own. */
export const kindsHeld = [
  'packets',
  'frames',
  'codecContexts',
  'graphs',
  'resamplers',
  'inputs',
  'peers',
  'timers',
  'descriptors',
] as const;
/** `peers`: WebRTC connections. `descriptors`: includes TCP and UDP sockets. */
export type MediaCounts = Readonly<Record<(typeof kindsHeld)[number], number>>;

const nothing = Object.fromEntries(kindsHeld.map((kind) => [kind, 0])) as MediaCounts;

export function combine(
  one: MediaCounts,
  other: MediaCounts,
  of: (count: number, otherCount: number) => number,
): MediaCounts {
  const counts = kindsHeld.map((kind) => [kind, of(one[kind], other[kind])]);
  return Object.fromEntries(counts) as MediaCounts;
}

export class SoakMedia {
  readonly #leaks: boolean;
  /** The first child, which serves; later ones are its standbys. */
  #child: ChildProcess | null = null;

  constructor(leaks: boolean) {
    this.#leaks = leaks;
  }

  get isAlive(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  start(): MediaCarrier {
    const child = spawn(process.execPath, [...process.execArgv, file], {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...(this.#leaks && { SOAK_LEAKS: '1' }) },
    });
    this.#child ??= child;
    return { ...forkOf(child), link: streamAt(child, 3) };
  }

  residentBytes(): number {
    return anonymousBytesOf(this.#child?.pid ?? NaN);
  }

  async sample(): Promise<MediaCounts> {
    const child = this.#child;
    assert(child !== null, 'the media process has been started');
    const answered = once(child, 'message') as Promise<[MediaSample]>;
    child.send('sample');
    const [{ natives, peers, timers }] = await answered;
    const own = { peers, timers, descriptors: descriptorsOf(child.pid ?? NaN) };
    return natives
      .map((census): MediaCounts => ({ ...nothing, ...census }))
      .reduce((sum, ofWorker) => combine(sum, ofWorker, (some, more) => some + more), {
        ...nothing,
        ...own,
      });
  }
}
