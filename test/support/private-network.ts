/** A network of its own for commands that use the default ports: those may be taken on this machine, and twice by two pages. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Ending } from './temporary-store.ts';
import { toolPath } from './debian-tools.ts';

const loopbackUp = [
  'unshare',
  '--net',
  '--map-root-user',
  'sh',
  '-c',
  'ip link set lo up && echo up && exec cat',
];

/** Whether this machine lets its users have one. Without, whoever finds a port taken says so. */
export const hasPrivateNetworks =
  spawnSync('sh', ['-c', `${loopbackUp.slice(0, 3).join(' ')} ip link set lo up`], {
    env: { PATH: toolPath },
  }).status === 0;

/** The command that runs the one after it there. It lasts until the test ends, or this process does. */
export async function enterPrivateNetwork(t: Ending): Promise<readonly string[]> {
  const [program = '', ...args] = loopbackUp;
  const holder = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => void holder.stdin.end());
  await once(holder.stdout, 'data');
  return ['nsenter', `--target=${holder.pid}`, '--user', '--net', '--preserve-credentials'];
}
