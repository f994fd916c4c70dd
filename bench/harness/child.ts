/** Processes of a benchmark: pinned to a core with `taskset`, preloaded with the probe, and ended by pid. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { ChildService, type Protocol } from './ipc.ts';
import type { ProbeProtocol } from './probe.ts';

/** One core for servers under test, the other for the load. */
export const serverCore = 0;
export const loadCore = 1;

/** Pinning requires two cores and `taskset` (util-linux). */
export const pinning = availableParallelism() > 1 && hasTaskset();

export interface ChildPlan {
  readonly entry: URL;
  readonly core: number | null;
  readonly parameters?: readonly string[];
  /** Runs as in production, without the probe. */
  readonly isBare?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

const living = new Set<Child>();

process.on('exit', () => {
  for (const child of living) child.process.kill('SIGKILL');
});

export class Child {
  readonly process: ChildProcess;
  readonly probe: ChildService<ProbeProtocol>;

  constructor({ entry, core, parameters = [], isBare = false, env = {} }: ChildPlan) {
    const instruments = isBare ? [] : ['--expose-gc', '--import', preload];
    const node = [process.execPath, ...instruments, fileURLToPath(entry), ...parameters];
    const command = [...pinnedTo(core), ...node];
    const [program = '', ...rest] = command;
    this.process = spawn(program, rest, {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...outsideSettings(), ...env },
    });
    this.process.setMaxListeners(0);
    living.add(this);
    this.process.once('exit', () => living.delete(this));
    this.probe = new ChildService(this.process, 'probe');
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = once(this.process, 'exit');
    this.process.kill('SIGKILL');
    await gone;
  }
}

/** A child process of the benchmarks and its service. Default core: the load's. */
export class Player<Asked extends Protocol> {
  readonly child: Child;
  readonly service: ChildService<Asked>;

  constructor(entry: URL, { core = loadCore, parameters = [] }: Partial<Omit<ChildPlan, 'entry'>> = {}) {
    this.child = new Child({ entry, core, parameters });
    this.child.process.stdout?.resume();
    this.service = new ChildService(this.child.process, 'own');
  }

  stop(): Promise<void> {
    return this.child.stop();
  }
}

export function pinnedTo(core: number | null): string[] {
  return pinning && core !== null ? ['taskset', '-c', String(core)] : [];
}

/** Preloads in main threads only, although worker threads inherit preloads. */
const preload =
  'data:text/javascript,' +
  encodeURIComponent(
    `import { isMainThread } from 'node:worker_threads';
    if (isMainThread) await import(${JSON.stringify(moduleBeside('./probe', import.meta.url).href)});`,
  );

/** The environment without server settings, because benchmarks measure the defaults. */
export function outsideSettings(): NodeJS.ProcessEnv {
  const outside = Object.entries(process.env);
  return Object.fromEntries(outside.filter(([name]) => !name.startsWith('REVEILLE_')));
}

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
