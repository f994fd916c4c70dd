/**
 * An edge on the machine of its core: a child of the server's supervisor that accepts on the sleep port as a `node:cluster` worker.
 * It ends on the supervisor's order, and with the supervisor. Source: scale-out.md, Edges; running.md, Stopping.
 */
import { followParent } from '../../lib/children/parent-end.ts';
import { connectLocally } from '../../lib/link/local-socket.ts';
import { LoopProgress } from '../../lib/loop-progress.ts';
import { readVersion } from '../../lib/package-version.ts';
import { messageOf } from '../../lib/result.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { EdgeProcess } from './edge.ts';
import type { EdgeChildKind } from './child-kind.ts';

// Without this, a write fails after the supervisor has died.
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
