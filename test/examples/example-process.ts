/** Runs a program of docs/examples as a process, with its output lines and exit code. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Ending } from '../support/temporary-store.ts';
import { checkout } from '../support/checkout.ts';
import { toolPath } from '../support/debian-tools.ts';

export const examples = fileURLToPath(new URL('docs/examples/', checkout));

export interface ProgramEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class ExampleProcess {
  readonly lines: string[] = [];
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcess;
  #over: ProgramEnd | null = null;
  #stderr = '';
  #wake: () => void = () => undefined;

  /** Killed at the end of the test. `input`: standard input. */
  constructor(
    t: Ending,
    command: readonly string[],
    env: Readonly<Record<string, string>> = {},
    input = '',
    cwd = examples,
  ) {
    const [program = '', ...args] = command;
    const { HOME = '' } = process.env;
    this.#child = spawn(program, args, {
      cwd,
      env: { PATH: toolPath, HOME, LANG: 'C.UTF-8', ...env },
    });
    t.after(() => void this.#child.kill('SIGKILL'));
    // A program may end before it has read everything.
    this.#child.stdin?.on('error', () => undefined).end(input);
    this.#child.stderr?.setEncoding('utf8').on('data', (piece: string) => (this.#stderr += piece));
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on('line', (line) => {
        this.lines.push(line);
        this.#wake();
      });
    this.ended = new Promise((resolve, reject) => {
      this.#child.on('error', reject);
      this.#child.on('close', (code) => {
        this.#over = { code, stdout: this.lines.join('\n'), stderr: this.#stderr };
        resolve(this.#over);
        this.#wake();
      });
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves with matching line number `which`, from 1; rejects if the process ends before. */
  async line(isWanted: (line: string) => boolean, which = 1): Promise<string> {
    for (;;) {
      const found = this.lines.filter(isWanted)[which - 1];
      if (found !== undefined) return found;
      if (this.#over !== null) throw new Error(`it ended: ${this.#over.stdout}\n${this.#over.stderr}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
