/**
 * Starts a media process as a child of the server or of its supervisor, with bounded resources.
 * Source: calls-and-media.md, The media process.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { totalmem } from 'node:os';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../lib/module-worker.ts';
import {
  mediaHeapGrowthPercent,
  mediaHeapMebibytesMax,
  mediaMemoryShareMax,
  mediaSemiSpaceMebibytesMax,
} from '../../model/media/decoding-limits.ts';
import type { MediaLinkKind } from '../../protocol/media-link/media-values.ts';
import { childEnvironment } from './child-environment.ts';
import { forkOf, nodeCommand, streamAt, type ChildFork } from './child-fork.ts';

/** A media process that was started. */
export interface MediaCarrier extends ChildFork {
  readonly link: Duplex;
}

const linkDescriptor = 3;
/** As in deploy/systemd/reveille-media.service. */
const oomScore = 500;

/**
 * The link is a pair of sockets: no other process can reach it, and it ends with either end. The child's output is not logged; its end is
 * kept as the reason of a crash. The child closes inherited descriptors: closeInherited in media/process/main.ts. Throws when the
 * process could not be created.
 */
export function startMediaChild(): MediaCarrier {
  const child = spawnMedia('pipe');
  return { ...forkOf(child), link: streamAt(child, linkDescriptor) };
}

/** As above, without a link: it connects to its core by itself. */
export function startSiteMedia(): ChildFork {
  return forkOf(spawnMedia('ignore'));
}

function spawnMedia(link: MediaLinkKind): ChildProcess {
  const file = fileURLToPath(moduleBeside('../../media/process/main', import.meta.url));
  const heap = [
    `--max-old-space-size=${mediaHeapMebibytesMax}`,
    `--max-semi-space-size=${mediaSemiSpaceMebibytesMax}`,
    `--heap-growing-percent=${mediaHeapGrowthPercent}`,
  ];
  const args = [...heap, ...process.execArgv, file, link];
  return spawn(...nodeCommand(args, memoryBound()), {
    env: childEnvironment(),
    // Input, outputs, the link, and the stream to the supervisor.
    stdio: ['ignore', 'pipe', 'pipe', link, 'pipe'],
    // Detached from the terminal: on Ctrl-C the server decides the order in which processes end.
    detached: true,
  });
}

/**
 * Limits the heap, and on Linux the writable memory; a shell sets that limit, since Node cannot. A limit of the address space is useless:
 * V8 reserves 76 GB that it never writes. When memory is short all the same, the kernel kills this process rather than the server.
 * Lower limits of the operator are kept.
 */
function memoryBound(): string {
  const kibibytesMax = Math.floor((memoryBytes() * mediaMemoryShareMax) / 1024);
  return `unset PWD OLDPWD SHLVL _; echo ${oomScore} 2>/dev/null >/proc/self/oom_score_adj
ulimit -d ${kibibytesMax} 2>/dev/null`;
}

/** Memory of the machine or the container, bytes. */
function memoryBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Infinity);
}
