/** The process of a child: its command, its stream, and its end with its last output. Source: scale-out.md, Edges. */
import type { ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { childDescriptor } from '../../lib/children/child-messages.ts';
import { type Clock, completesWithin } from '../../lib/clock.ts';

/** A started process, with the supervisor's end of its stream. */
export interface ChildFork {
  readonly channel: Duplex;
  readonly pid: number | null;
  /** Resolves when it has ended: how, in a few words. */
  readonly ended: Promise<string>;
  /** Kills it with SIGKILL, which also ends a stopped process. */
  kill(): void;
}

interface EndOptions {
  readonly clock: Clock;
  readonly msMax: number;
  readonly ending: Promise<unknown>;
  readonly overdue: () => void;
}

/** Resolves when the child has ended: by itself within `msMax`, or killed after `overdue` was called. */
export async function endOrKill(
  child: Pick<ChildFork, 'ended' | 'kill'>,
  { clock, msMax, ending, overdue }: EndOptions,
): Promise<void> {
  if (await completesWithin(clock, msMax, ending)) return;
  overdue();
  child.kill();
  await child.ended;
}

/** Characters kept from the end of the child's output. */
const lastWordsCharactersMax = 1000;

/**
 * The command that runs Node with `args`; on Linux a shell runs `preparation` first. A process that is still loading cannot notice the
 * death of its parent, so the kernel then sends it SIGHUP; a loaded child ignores that signal.
 */
export function nodeCommand(args: readonly string[], preparation = ''): [command: string, args: string[]] {
  if (process.platform !== 'linux') return [process.execPath, [...args]];
  const script = `${preparation}
setpriv --pdeathsig HUP true 2>/dev/null && set -- setpriv --pdeathsig HUP "$@"
exec "$@"`;
  return ['/bin/sh', ['-c', script, 'sh', process.execPath, ...args]];
}

/**
 * Wraps a child of `spawn`, `fork` or `cluster.fork` whose `stdio` has a pipe at `childDescriptor`. Reads its piped outputs, and keeps
 * their end. Throws when the process could not be created.
 */
export function forkOf(child: ChildProcess): ChildFork {
  const ended = endOf(child);
  const channel = streamAt(child, childDescriptor);
  return { channel, pid: child.pid ?? null, ended, kill: () => void child.kill('SIGKILL') };
}

/** Throws when there is no stream: Node could not open the descriptors. */
export function streamAt(child: ChildProcess, descriptor: number): Duplex {
  const stream = child.stdio?.[descriptor] ?? null;
  if (stream === null) throw new Error('no process can be started: too many open files');
  // The owner of the stream notices an early end once it listens.
  stream.on('error', () => undefined);
  return stream as Duplex;
}

/** Resolves after the end of its output. Never rejects. */
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
