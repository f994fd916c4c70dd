/**
 * A media process as a child of the server or of its supervisor: how it is started, and what it is given. Source:
 * calls-and-media.md, The media process.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { totalmem } from 'node:os';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../lib/module-worker.ts';
import { mediaHeapMebibytesMax, mediaMemoryShareMax } from '../../model/media/decoding-limits.ts';
import { childEnvironment } from './child-environment.ts';
import { forkOf, nodeCommand, streamAt, type ChildFork } from './child-fork.ts';

/** A media process that is there, or is being started. */
export interface MediaCarrier extends ChildFork {
  /** The link of its legs. */
  readonly link: Duplex;
}

const linkDescriptor = 3;
/** As in deploy/systemd/reveille-media.service. */
const oomScore = 500;

/**
 * Throws when the machine has no process to give. The link is a pair of sockets: nobody else can reach it, and it ends with
 * either of the two. The child's output is no log of ours, but the last words of it and its libraries: the end of it is kept.
 * It holds nothing of the server: closeInherited in media/process/main.ts.
 */
export function startMediaChild(): MediaCarrier {
  const child = spawnMedia('pipe');
  return { ...forkOf(child), link: streamAt(child, linkDescriptor) };
}

/** The same without a link: it connects to its core by itself. */
export function startSiteMedia(): ChildFork {
  return forkOf(spawnMedia('ignore'));
}

function spawnMedia(link: 'pipe' | 'ignore'): ChildProcess {
  const file = fileURLToPath(moduleBeside('../../media/process/main', import.meta.url));
  const args = [`--max-old-space-size=${mediaHeapMebibytesMax}`, ...process.execArgv, file];
  return spawn(...nodeCommand(args, memoryBound()), {
    env: childEnvironment(),
    // Its input, its last words, the link, and the stream to its supervisor.
    stdio: ['ignore', 'pipe', 'pipe', link, 'pipe'],
    // Out of the terminal's reach: what Ctrl-C ends, and in which order, is the server's affair.
    detached: true,
  });
}

/**
 * The heap has a bound, and on Linux the writable memory, which a shell sets before it becomes Node: Node cannot bound itself.
 * A bound of the whole address space would say nothing, since V8 reserves 76 GB that it never writes. Where memory is short
 * all the same, the kernel is to end this process and not the server. Limits of the operator's own are kept if they are less.
 */
function memoryBound(): string {
  const kibibytesMax = Math.floor((memoryBytes() * mediaMemoryShareMax) / 1024);
  return `unset PWD OLDPWD SHLVL _; echo ${oomScore} 2>/dev/null >/proc/self/oom_score_adj
ulimit -d ${kibibytesMax} 2>/dev/null`;
}

/** Memory of the machine, or of the container that this process runs in. */
function memoryBytes(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Infinity);
}
