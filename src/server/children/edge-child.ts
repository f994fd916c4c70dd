/** An edge as a child of the server's supervisor: how it is started. Source: scale-out.md, Edges. */
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../lib/module-worker.ts';
import { childEnvironment, msgpackWithoutNative } from './child-environment.ts';
import { forkOf, type ChildFork } from './child-fork.ts';

/** Half of V8's young generation, which would grow in a storm of logins to 16 MiB, in Node 24 to 64. */
const semiSpaceMebibytesMax = 4;

/**
 * Throws when the machine has no process to give. It is a worker of `node:cluster` without its scheduling: where the system spreads
 * connections over sockets each edge listens by itself, else all of them accept from one socket, which stays open here
 * as long as one edge listens. It ends with this process.
 */
export function startEdgeChild(): ChildFork {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({
    exec: fileURLToPath(moduleBeside('../../edge/process/main', import.meta.url)),
    args: [],
    execArgv: [`--max-semi-space-size=${semiSpaceMebibytesMax}`, ...process.execArgv],
    // Its input, its last words, the channel of node:cluster, and the stream to its supervisor.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
  });
  return forkOf(cluster.fork(environmentOfEdge()).process);
}

/** Node adds it to the environment of this process, from which it takes what is undefined here. */
function environmentOfEdge(): NodeJS.ProcessEnv {
  const given = childEnvironment();
  const names = Object.keys(process.env);
  return { ...Object.fromEntries(names.map((name) => [name, given[name]])), [msgpackWithoutNative]: 'true' };
}
