/**
 * The media process of a server on the same machine. Started by the server itself, it has the link of its legs at descriptor 3
 * and ends with it; started by the supervisor of a site, it connects to the core, and again whenever the link has ended. It ends
 * by no signal that whoever stops a service sends to all of its processes: its parent sees to the order. Source: running.md,
 * Stopping; scale-out.md, Edges.
 */
import { Socket } from 'node:net';
import { closeSync, constants, fstatSync, readdirSync, readFileSync } from 'node:fs';
import { pause } from '../../lib/clock.ts';
import { deferred } from '../../lib/deferred.ts';
import { childDescriptor } from '../../lib/children/child-messages.ts';
import { followParent } from '../../lib/children/parent-end.ts';
import { connectLocally } from '../../lib/link/local-socket.ts';
import { LoopProgress } from '../../lib/loop-progress.ts';
import { readVersion } from '../../lib/package-version.ts';
import { messageOf } from '../../lib/result.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { mediaAwayMsMax } from '../../model/limits.ts';
import type { MediaChildKind } from '../../protocol/media-link/media-values.ts';
import { MediaEnd } from '../link/media-end.ts';
import { TranscoderPool } from '../transcoding/transcoder-pool.ts';
import { startMediaServer, type RunningMediaServer } from './media-server.ts';

const linkDescriptor = 3;
/** Standard input and outputs, the link, and the stream to the server that supervises it. */
const givenDescriptors = childDescriptor + 1;
/** Between the end of a link to a core of this machine and the next try to connect. */
const connectMs = 50;
const closeOnExec = 0o2000000;

// Nobody reads it any more when the server has died first.
process.stderr.on('error', () => undefined);
// Without a listener, SIGUSR1 opens Node's inspector.
process.on('SIGUSR1', () => undefined);

const clock = new SystemClock();
let server: RunningMediaServer | null = null;
let linkEnded = deferred();
const progress = new LoopProgress(clock);
const parent = followParent<MediaChildKind>({
  clock,
  progress,
  release: readVersion(),
  ordered: () => undefined,
  stop: () => void leave(null),
  orphaned: (fault) => void leave(fault),
});

/** When its parent is gone without a word, its legs are still sent away in order. */
async function leave(fault: string | null): Promise<void> {
  if (fault !== null) lastWords(fault);
  await server?.drain();
  vanish();
}

/** A thread may be in native code, where an exit waits for it or aborts; nothing of ours is left to be done. */
function vanish(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Why this process ends, for the server's log: the link is gone by now, or may not bring it. */
function lastWords(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

try {
  closeInherited();
  const { corePath, ...settings } = await parent.begun;
  const end =
    corePath === null
      ? new MediaEnd({ clock, progress, onEnd: (fault) => void leave(fault) })
      : new MediaEnd({ clock, progress, awayMsMax: mediaAwayMsMax, onEnd: () => linkEnded.resolve() });
  const { log } = end;
  if (corePath === null) {
    end.attach(new Socket({ fd: linkDescriptor }));
    await end.started();
  }
  server = await startMediaServer(settings, {
    clock,
    log,
    end,
    openTranscoders: ({ workers: threads, ...limits }) =>
      TranscoderPool.open({
        ...limits,
        threads,
        clock,
        log,
        onWedged: (sentence) => {
          // The link ends behind the sentence, and with it the process.
          log.error({}, sentence);
          lastWords(sentence);
          void end.end().then(() => leave(null));
        },
      }),
  });
  parent.ready({ port: server.address.port });
  if (corePath !== null) await keepLinked(end, corePath);
} catch (error) {
  const sentence = messageOf(error);
  lastWords(sentence);
  await parent.failed(sentence);
}

/** As long as this process is there. The core itself logs the ends of its links. */
async function keepLinked(end: MediaEnd, corePath: string): Promise<never> {
  for (;;) {
    const link = await connectLocally(corePath).catch(() => null);
    if (link !== null) {
      linkEnded = deferred();
      end.attach(link);
      await linkEnded.promise;
    }
    await pause(clock, connectMs);
  }
}

/**
 * Closes what this process was not given, before it reads a byte of a stranger's: descriptors that the server opened
 * without close-on-exec, as LMDB opens its files. Linux alone hands them down: on macOS the system closes them for every
 * child of Node, and on Windows a handle is inherited by name only. Throws, with a sentence for the operator, when it
 * cannot: then it must not go on. Source: docs/media.md, What the media process holds.
 */
function closeInherited(): void {
  if (process.platform !== 'linux') return;
  try {
    for (const descriptor of readdirSync('/proc/self/fd').map(Number))
      if (descriptor >= givenDescriptors && isInherited(descriptor)) closeSync(descriptor);
  } catch (cause) {
    const sentence = `the media process cannot close the descriptors of its server: ${messageOf(cause)}`;
    throw new Error(sentence, { cause });
  }
}

/**
 * Node opens files to close on exec: a descriptor that does not has come from the server. Node marks the lowest descriptors so as well
 * when it starts; a file among them that is open both ways is the server's too, since Node itself only reads files by now.
 */
function isInherited(descriptor: number): boolean {
  try {
    const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
    const flags = Number.parseInt(/^flags:\s*([0-7]+)$/m.exec(info)?.[1] ?? '', 8);
    const isBothWays = (flags & constants.O_RDWR) !== 0 && fstatSync(descriptor).isFile();
    return isBothWays || (flags & closeOnExec) === 0;
  } catch (error) {
    // Closed since it was listed, as the list itself is.
    if (error instanceof Error && 'code' in error && (error.code === 'EBADF' || error.code === 'ENOENT'))
      return false;
    throw error;
  }
}
