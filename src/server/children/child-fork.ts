/** How a child process is started, and how it ended, in its last words. Source: scale-out.md, Edges. */
import type { ChildProcess } from 'node:child_process';
import type { Duplex, Readable } from 'node:stream';
import { childDescriptor } from '../../lib/children/child-messages.ts';
import type { Child } from './spare.ts';

/** A process that was started, and the stream to it. */
export interface ChildFork extends Child {
  readonly channel: Duplex;
}

/** Of what the child prints, where that is kept. */
const lastWordsCharactersMax = 1000;

/**
 * Node with these arguments, behind a shell's `preparation` on Linux. A process that its parent's end finds loading would not
 * see it, and might hang there for ever: the kernel then sends it SIGHUP, which a child that is loaded does not heed.
 */
export function nodeCommand(args: readonly string[], preparation = ''): [command: string, args: string[]] {
  if (process.platform !== 'linux') return [process.execPath, [...args]];
  const script = `${preparation}
setpriv --pdeathsig HUP true 2>/dev/null && set -- setpriv --pdeathsig HUP "$@"
exec "$@"`;
  return ['/bin/sh', ['-c', script, 'sh', process.execPath, ...args]];
}

/**
 * A process of Node's as a child of ours. It was started with a pipe at `childDescriptor`; where its outputs are pipes,
 * too, their end is kept as its last words. Throws when the machine had no process to give.
 */
export function forkOf(child: ChildProcess): ChildFork {
  const ended = endOf(child);
  const channel = streamAt(child, childDescriptor);
  return { channel, pid: child.pid ?? null, ended, kill: () => void child.kill('SIGKILL') };
}

/** Throws where Node had none to give: it does so where not even the descriptors could be had. */
export function streamAt(child: ChildProcess, descriptor: number): Duplex {
  const stream = child.stdio?.[descriptor] ?? null;
  if (stream === null) throw new Error('no process can be started: too many open files');
  // Until its owner listens to it; an end that comes so early still shows on the stream itself.
  stream.on('error', () => undefined);
  return stream as Duplex;
}

/** Never rejects. Behind the end of all that it has printed. */
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
