/** The process of a child: its command, its stream, and its end with its last words. Source: scale-out.md, Edges. */
import type { ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { childDescriptor } from '../../lib/children/child-messages.ts';
import { type Clock, completesWithin } from '../../lib/clock.ts';

/** A process that was started, and the supervisor's end of its stream. */
export interface ChildFork {
  readonly channel: Duplex;
  readonly pid: number | null;
  /** Resolves, once, when it is gone: how it ended, in a few words. */
  readonly ended: Promise<string>;
  /** Ends it where it stands, also when it is stopped. */
  kill(): void;
}

interface EndOptions {
  readonly clock: Clock;
  readonly msMax: number;
  readonly ending: Promise<unknown>;
  readonly overdue: () => void;
}

/** Resolves when the child is gone: by itself, `ending` within `msMax`, or killed, which `overdue` logs. */
export async function endOrKill(
  child: Pick<ChildFork, 'ended' | 'kill'>,
  { clock, msMax, ending, overdue }: EndOptions,
): Promise<void> {
  if (await completesWithin(clock, msMax, ending)) return;
  overdue();
  child.kill();
  await child.ended;
}

/** The end of the child's output that is kept. */
const lastWordsCharactersMax = 1000;

/**
 * The command that runs Node with `args`; on Linux a shell runs the lines of `preparation` first. A process that still loads
 * cannot see that its parent has died, and may hang there: the kernel then sends it SIGHUP, which a loaded child ignores.
 */
export function nodeCommand(args: readonly string[], preparation = ''): [command: string, args: string[]] {
  if (process.platform !== 'linux') return [process.execPath, [...args]];
  const script = `${preparation}
setpriv --pdeathsig HUP true 2>/dev/null && set -- setpriv --pdeathsig HUP "$@"
exec "$@"`;
  return ['/bin/sh', ['-c', script, 'sh', process.execPath, ...args]];
}

/**
 * A child of Node's, by `spawn`, `fork` or `cluster.fork`, whose `stdio` has a pipe at `childDescriptor`. Outputs that are
 * pipes are read, and their end is kept as its last words. Throws when the machine had no process to give.
 */
export function forkOf(child: ChildProcess): ChildFork {
  const ended = endOf(child);
  const channel = streamAt(child, childDescriptor);
  return { channel, pid: child.pid ?? null, ended, kill: () => void child.kill('SIGKILL') };
}

/** Throws when there is none: Node could not open the descriptors. */
export function streamAt(child: ChildProcess, descriptor: number): Duplex {
  const stream = child.stdio?.[descriptor] ?? null;
  if (stream === null) throw new Error('no process can be started: too many open files');
  // An early end shows on the stream itself, once its owner listens.
  stream.on('error', () => undefined);
  return stream as Duplex;
}

/** Resolves behind the end of its output. Never rejects. */
function endOf(child: ChildProcess): Promise<string> {
  const outputs = [child.stdout, child.stderr].filter((output): output is Readable => Boolean(output));
  let words = '';
  for (const output of outputs)
    output.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-lastWordsCharactersMax);
    });
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on(outputs.length === 0 ? 'exit' : 'close', (code, signal) => {
      const how = signal ?? `exit code ${code}`;
      const said = words.trim();
      resolve(said === '' ? how : `${how}: ${said}`);
    });
  });
}
