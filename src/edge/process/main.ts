/**
 * An edge of a core on the same machine: a child of the server's supervisor, on whose sleep port it accepts as a worker of
 * `node:cluster`. It ends by its supervisor's word, and with it. Source: scale-out.md, Edges; running.md, Stopping.
 */
import { followParent } from '../../lib/children/parent-end.ts';
import { connectLocally } from '../../lib/link/local-socket.ts';
import { LoopProgress } from '../../lib/loop-progress.ts';
import { readVersion } from '../../lib/package-version.ts';
import { messageOf } from '../../lib/result.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { EdgeProcess } from './edge.ts';
import type { EdgeChildKind } from './child-kind.ts';

// It has no reader any more when the supervisor has died first.
process.stderr.on('error', () => undefined);
// Without a listener, SIGUSR1 opens Node's inspector.
process.on('SIGUSR1', () => undefined);

const clock = new SystemClock();
const progress = new LoopProgress(clock);
const release = readVersion();
let edge: EdgeProcess | null = null;
const parent = followParent<EdgeChildKind>({
  clock,
  progress,
  release,
  ordered: () => undefined,
  stop: () => void (edge === null ? process.exit() : edge.stop()),
  orphaned: () => process.exit(),
});

try {
  const { name, sleep, corePath } = await parent.begun;
  edge = new EdgeProcess(
    { name, sleep, port: 'shared' },
    {
      clock,
      progress,
      release,
      log: null,
      connect: () => connectLocally(corePath),
      onListening: () => undefined,
    },
  );
  parent.ready({});
  await edge.run();
} catch (error) {
  await parent.failed(messageOf(error));
}
process.exit();
