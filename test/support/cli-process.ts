/** Runs the command line as a process, as a shell does. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Ending } from './temporary-store.ts';
import { checkout, runArgs } from './checkout.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';

/** Compiled if the tests are compiled, as in production. */
export const mainArgs = runArgs(moduleBeside('../../src/main', import.meta.url));

export interface CliResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment without the settings and profiles of the person who runs the tests. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('REVEILLE_'));
  return { ...Object.fromEntries(others), XDG_CONFIG_HOME: '/nonexistent' };
}

export interface Launch {
  /** File to run instead of the program, such as another release. */
  readonly program?: string;
  /** Limit of open files. Default: that of the tests. */
  readonly openFilesMax?: number;
  /** Command that wraps the program, such as one that enters a namespace. */
  readonly within?: readonly string[];
  readonly imports?: readonly string[];
}

function spawnCli(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  { program, openFilesMax, within = [], imports = [] }: Launch = {},
): ChildProcess {
  const node = [
    process.execPath,
    ...imports.flatMap((module) => ['--import', module]),
    ...(program === undefined ? mainArgs : [...mainArgs.slice(0, -1), program]),
    ...args,
  ];
  const limited = ['sh', '-c', `ulimit -n ${openFilesMax}; exec "$0" "$@"`, ...node];
  const [command = '', ...rest] = [...within, ...(openFilesMax === undefined ? node : limited)];
  return spawn(command, rest, {
    cwd: fileURLToPath(checkout),
    env: { ...cleanEnvironment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

export function runCli(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliResult> {
  const child = spawnCli(args, env);
  const said = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => (said.stdout += piece));
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => (said.stderr += piece));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => resolve({ exitCode, ...said }));
  });
}

export class LongCommand {
  readonly lines: string[] = [];
  stderr = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #onLine: () => void = () => undefined;

  constructor(t: Ending, args: readonly string[], env: NodeJS.ProcessEnv = {}, launch: Launch = {}) {
    this.#child = spawnCli(args, env, launch);
    t.after(() => void this.#child.kill('SIGKILL'));
    this.#child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      this.stderr += piece;
    });
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on('line', (line) => {
        this.lines.push(line);
        this.#onLine();
      });
    this.#ended = new Promise((resolve) => {
      this.#child.on('close', (exitCode) => {
        resolve(exitCode);
        this.#onLine();
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Resolves to the first line on standard output, past or future, for which `isWanted` returns true. Rejects when the command
   * exits first.
   */
  async line(isWanted: (line: string) => boolean): Promise<string> {
    for (;;) {
      const found = this.lines.find(isWanted);
      if (found !== undefined) return found;
      if (this.#child.exitCode !== null)
        throw new Error(`it ended: ${this.lines.join('\n')}\n${this.stderr}`);
      await new Promise<void>((resolve) => {
        this.#onLine = resolve;
      });
    }
  }

  /** Resolves to the fields of the `which`th log line, from 1, with this message. */
  async logged<Fields>(message: string, which = 1): Promise<Fields> {
    const has = (line: string): boolean => line.includes(`"msg":${JSON.stringify(message)}`);
    await this.line((line) => has(line) && this.lines.filter(has).length >= which);
    return JSON.parse(this.lines.filter(has)[which - 1] ?? '') as Fields;
  }

  get ended(): Promise<number | null> {
    return this.#ended;
  }

  /** Closes the pipe of its output, as a reader that has seen enough. */
  hangUp(): void {
    this.#child.stdout?.destroy();
  }

  /** Sends the signal and resolves to the exit code; null if the signal killed it. */
  stop(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal);
    return this.#ended;
  }
}
