/**
 * The media process of a server on the same machine. Started by the server, it has the link at descriptor 3 and ends with it; started by
 * the supervisor of a site, it connects to the core, and reconnects when a link ends. It ignores the signals that a service manager
 * sends to all processes of a service: its parent controls the order of the stop. Source: running.md, Stopping; scale-out.md, Edges.
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
import type { MediaChildKind, MediaLinkKind } from '../../protocol/media-link/media-values.ts';
import { MediaEnd } from '../link/media-end.ts';
import { TranscoderPool } from '../transcoding/transcoder-pool.ts';
import { startMediaServer, type RunningMediaServer } from './media-server.ts';

const linkDescriptor = 3;
/** Standard input and outputs, the link, and the stream to the supervising server. */
const givenDescriptors = childDescriptor + 1;
/** Delay between the end of a link to a local core and the next attempt to connect. */
const connectMs = 50;
const closeOnExec = 0o2000000;

// The pipe breaks if the server has died first.
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
  stop: () => void drainAndEnd(null),
  orphaned: (fault) => void drainAndEnd(fault),
});

/** If its parent dies without notice, its legs are still closed in order. */
async function drainAndEnd(fault: string | null): Promise<void> {
  if (fault !== null) writeReason(fault);
  await server?.drain();
  killSelf();
}

/** SIGKILL, because an exit waits for a thread in native code, or aborts; nothing is left to be done. */
function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Writes why this process ends to stderr, for the server's log: the link has ended, or may not deliver it. */
function writeReason(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}

void run();

async function run(): Promise<void> {
  try {
    closeInheritedDescriptors();
    const end = newEnd();
    const { log } = end;
    const { corePath, ...settings } = await parent.begun;
    if (corePath === null) {
      end.attach(new Socket({ fd: linkDescriptor }));
      await end.started();
    }
    server = await startMediaServer(settings, {
      clock,
      log,
      end,
      newTranscoders: ({ workers: threads, ...limits }) =>
        new TranscoderPool({
          ...limits,
          threads,
          clock,
          log,
          onWedged: (sentence) => {
            // The link ends after the sentence is sent, and the process with it.
            log.error({}, sentence);
            writeReason(sentence);
            void end.end().then(() => drainAndEnd(null));
          },
        }),
    });
    parent.ready({ port: server.address.port });
    if (corePath !== null) await keepLinked(end, corePath);
  } catch (error) {
    const sentence = messageOf(error);
    writeReason(sentence);
    await parent.failed(sentence);
  }
}

function newEnd(): MediaEnd {
  const [, , link] = process.argv;
  if (link === ('pipe' satisfies MediaLinkKind))
    return new MediaEnd({ clock, progress, onEnd: (fault) => void drainAndEnd(fault) });
  return new MediaEnd({ clock, progress, awayMsMax: mediaAwayMsMax, onEnd: () => linkEnded.resolve() });
}

/** Runs as long as this process. The core logs the ends of its links. */
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
 * Closes descriptors that this process should not have, before it reads a byte of a stranger: those that the server opened without
 * close-on-exec, as LMDB does. Only Linux passes them on: on macOS the system closes them for every child of Node, and on Windows
 * handles are inherited by name only. Throws a sentence for the operator if it cannot; the process must then not continue. Source:
 * docs/media.md, Secrets in the media process.
 */
function closeInheritedDescriptors(): void {
  if (process.platform !== 'linux') return;
  try {
    for (const descriptor of readdirSync('/proc/self/fd').map(Number))
      if (descriptor >= givenDescriptors && isInherited(descriptor)) closeSync(descriptor);
  } catch (cause) {
    const sentence = `media process: cannot close inherited descriptors: ${messageOf(cause)}`;
    throw new Error(sentence, { cause });
  }
}

/**
 * Node opens files with close-on-exec: a descriptor without it comes from the server. At start Node sets it on the lowest descriptors
 * as well; a regular file among them that is open for reading and writing is the server's too, since Node only reads files by then.
 */
function isInherited(descriptor: number): boolean {
  try {
    const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8');
    const flags = Number.parseInt(/^flags:\s*([0-7]+)$/m.exec(info)?.[1] ?? '', 8);
    const isBothWays = (flags & constants.O_RDWR) !== 0 && fstatSync(descriptor).isFile();
    return isBothWays || (flags & closeOnExec) === 0;
  } catch (error) {
    // Closed since it was listed, as the listing's own descriptor is.
    if (error instanceof Error && 'code' in error && (error.code === 'EBADF' || error.code === 'ENOENT'))
      return false;
    throw error;
  }
}
