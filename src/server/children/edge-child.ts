/** Starts an edge as a child of the server's supervisor. Source: scale-out.md, Edges. */
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../lib/module-worker.ts';
import { childEnvironment, msgpackWithoutNative } from './child-environment.ts';
import { forkOf, type ChildFork } from './child-fork.ts';

/** Half of V8's young generation. Default: up to 16 MiB in a storm of logins, with Node 24 up to 64. */
const semiSpaceMebibytesMax = 4;

/**
 * A worker of `node:cluster` without its scheduling: where the kernel balances connections over sockets, each edge listens by itself;
 * otherwise all accept from one socket, which stays open here as long as an edge listens. It ends with this process. Throws when the
 * process could not be created.
 */
export function startEdgeChild(): ChildFork {
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({
    exec: fileURLToPath(moduleBeside('../../edge/process/main', import.meta.url)),
    args: [],
    execArgv: [`--max-semi-space-size=${semiSpaceMebibytesMax}`, ...process.execArgv],
    // Input, outputs, the channel of node:cluster, and the stream to the supervisor.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc', 'pipe'],
  });
  return forkOf(cluster.fork(environmentOfEdge()).process);
}

/** `cluster.fork` adds these to the environment of this process; undefined removes a variable. */
function environmentOfEdge(): NodeJS.ProcessEnv {
  const given = childEnvironment();
  const names = Object.keys(process.env);
  return { ...Object.fromEntries(names.map((name) => [name, given[name]])), [msgpackWithoutNative]: 'true' };
}
