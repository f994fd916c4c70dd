/**
 * The processes of a benchmark: each is pinned where the machine has `taskset`, carries the probe, and is ended by
 * its id whatever happens here.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { LocalLegService, type Protocol } from './ipc.ts';
import { probeService, type ProbeProtocol } from './probe-protocol.ts';

/** Servers under test have one processor, everything that loads them the other. */
export const serverCore = 0;
export const loadCore = 1;

/** Of util-linux. */
const taskset = 'taskset';

/** One processor cannot be split, and without `taskset` there is no pinning. */
export const pinning = availableParallelism() > 1 && hasTaskset();

export interface ChildPlan {
  readonly entry: URL;
  /** Null: wherever the kernel puts it. */
  readonly core: number | null;
  readonly parameters?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const living = new Set<Child>();

process.on('exit', () => {
  for (const child of living) child.kill();
});

export class Child {
  readonly process: ChildProcess;
  readonly probe: LocalLegService<ProbeProtocol>;

  constructor({ entry, core, parameters = [], env = {} }: ChildPlan) {
    const node = [process.execPath, '--expose-gc', '--import', 'tsx', '--import', preload];
    const command = [
      ...(pinning && core !== null ? [taskset, '-c', String(core)] : []),
      ...node,
      fileURLToPath(entry),
      ...parameters,
    ];
    const [program = '', ...rest] = command;
    this.process = spawn(program, rest, {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...outsideSettings(), ...env },
    });
    this.process.setMaxListeners(0);
    living.add(this);
    this.process.once('exit', () => living.delete(this));
    this.probe = new LocalLegService(this.process, probeService);
  }

  service<Asked extends Protocol>(name: string): LocalLegService<Asked> {
    return new LocalLegService(this.process, name);
  }

  /** Kept apart from the main thread's processor: every other thread of the process, those of the runtime too. */
  moveWorkersTo(core: number): void {
    const { pid } = this.process;
    if (!pinning || pid === undefined) return;
    pin(pid, core);
    execFileSync(taskset, ['-c', '-p', String(serverCore), String(pid)], { stdio: 'ignore' });
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }

  /** Resolves when the process is gone. */
  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = once(this.process, 'exit');
    this.kill();
    await gone;
  }
}

/** A process that runs, with all of its threads, where the machine can. */
export function pin(pid: number, core: number): void {
  if (pinning) execFileSync(taskset, ['-a', '-c', '-p', String(core), String(pid)], { stdio: 'ignore' });
}

/** Has any process of a server collect its garbage; the server itself knows nothing of it. */
export const collectSignal = 'SIGURG';

/**
 * Worker threads inherit what is preloaded, and the server's cannot all load TypeScript: theirs is nothing. Neither is that
 * of the processes that a supervisor starts: they end with it.
 */
const probe = new URL('./probe.ts', import.meta.url).href;
const preload =
  'data:text/javascript,' +
  encodeURIComponent(
    `import { isMainThread } from 'node:worker_threads';
    if (isMainThread) process.on('${collectSignal}', () => globalThis.gc());
    if (isMainThread && !process.argv.includes('--supervised')) await import(${JSON.stringify(probe)});`,
  );

/** A benchmark measures default settings: what this shell sets for a server is not for its servers. */
export function outsideSettings(): NodeJS.ProcessEnv {
  const outside = Object.entries(process.env);
  return Object.fromEntries(outside.filter(([name]) => !name.startsWith('REVEILLE_')));
}

function hasTaskset(): boolean {
  try {
    execFileSync(taskset, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
