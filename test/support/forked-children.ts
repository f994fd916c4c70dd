/** Starts real children of a supervisor. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { forkOf, nodeCommand, type ChildFork } from '../../src/server/children/child-fork.ts';

const program = fileURLToPath(moduleBeside('./supervised-process', import.meta.url));

export function forkProgram(manner: 'sound' | 'stuck', stdout: 'inherit' | 'pipe'): ChildFork {
  const command = nodeCommand([...process.execArgv, program, manner]);
  return forkOf(spawn(...command, { stdio: ['ignore', stdout, stdout, 'ignore', 'pipe'] }));
}
