/** A command at a terminal of its own, which `script` makes: what is typed, and what a person would see. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { runArgs } from './checkout.ts';
import type { Ending } from './temporary-store.ts';
import { moduleBeside } from '../../src/lib/module-worker.ts';

/** Why a test at a terminal is left out here; false: it is not. */
export const noTerminal = process.platform !== 'linux' && 'script has other options there';

export class PseudoTerminal {
  shown = '';
  readonly #script: ChildProcess;
  readonly #ended: Promise<unknown[]>;
  #onShown: () => void = () => undefined;

  /** `args`: of `reveille`. */
  constructor(t: Ending, args: readonly string[]) {
    const words = [process.execPath, ...runArgs(moduleBeside('../../src/main', import.meta.url)), ...args];
    const line = words.map((word) => `'${word}'`).join(' ');
    const env = Object.entries(process.env).filter(([name]) => !name.startsWith('REVEILLE_'));
    this.#script = spawn('script', ['-qec', `exec ${line}`, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...Object.fromEntries(env), XDG_CONFIG_HOME: '/nonexistent' },
    });
    t.after(() => void this.#script.kill('SIGKILL'));
    this.#ended = once(this.#script, 'close');
    this.#script.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      this.shown += piece;
      this.#onShown();
    });
    void this.#ended.then(() => this.#onShown());
  }

  /** Resolves when it has been shown so often; rejects when the command ends before. */
  async sees(text: string, times = 1): Promise<void> {
    while (this.shown.split(text).length <= times) {
      if (this.#script.exitCode !== null) throw new Error(`it ended, and showed ${this.shown}`);
      await new Promise<void>((resolve) => {
        this.#onShown = resolve;
      });
    }
  }

  type(text: string): void {
    this.#script.stdin?.write(text);
  }

  /** The exit code of the command. */
  async ended(): Promise<unknown> {
    return (await this.#ended)[0];
  }
}
