/** The terminals of a reader who follows a page: runs its blocks in order, in one folder, with the variables that they export. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DocumentBlock, Mark } from './document-blocks.ts';
import { hangMsMax } from './hang-limit.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';

const installed = 'npm() { [[ $1 == ci ]] || command npm "$@"; }\n';
/** The last line of a first start, behind the secrets of its devices. */
const demoServer = { commands: 'npm start', until: '"msg":"console: ready"' };

export class PageShell {
  #environment: NodeJS.ProcessEnv;
  readonly #enter: readonly string[];
  readonly #stateFile: string;
  readonly #blocks: Block[] = [];
  readonly #running: Block[] = [];

  /** `environment`: its `PWD` is the folder. `enter`: a command that runs its argument in a network of its own. */
  constructor(t: Ending, environment: NodeJS.ProcessEnv, enter: readonly string[] = []) {
    this.#environment = environment;
    this.#enter = enter;
    this.#stateFile = join(temporaryDirectory(t), 'environment');
    t.after(async () => void (await Promise.all(this.#running.map((block) => block.kill()))));
  }

  /**
   * Runs a block and resolves to its output. Rejects, with the output, when a command fails or does not print what the page
   * shows.
   */
  async run({ language, text, marks }: DocumentBlock): Promise<string> {
    for (const mark of marks) await this.#prepare(mark);
    const { typed, printed } = language === 'console' ? readConsole(text) : { typed: text, printed: [] };
    const commands = marks.some(({ kind }) => kind === 'installed') ? installed + typed : typed;
    const until = marks.find((mark) => mark.kind === 'until')?.text;
    const output = await (until === undefined ? this.#finish(commands) : this.#startUntil(commands, until));
    assertPrinted(output, printed);
    return output;
  }

  /** Throws when a block that should keep running has failed. */
  checkGoingOn(): void {
    for (const block of this.#running) assert.ok(!block.hasFailed, `it went on and failed:\n${block.output}`);
  }

  async #prepare({ kind, name, text }: Mark): Promise<void> {
    if (kind === 'stop') await this.#stop();
    if (kind === 'server') await this.#startUntil(demoServer.commands, demoServer.until);
    if (kind === 'take') this.#environment[name] = this.#printedAfter(text);
  }

  /** Ends all blocks, as Ctrl-C in every terminal. */
  async #stop(): Promise<void> {
    this.checkGoingOn();
    await Promise.all(this.#running.splice(0).map((block) => block.kill()));
  }

  #printedAfter(text: string): string {
    const outputs = this.#blocks.map(({ output }) => output.replace(/\s+/g, ' '));
    const output = outputs.findLast((printed) => printed.includes(text));
    const [word] = output?.slice(output.indexOf(text) + text.length).match(/\S+/) ?? [];
    assert.ok(
      word !== undefined,
      `nothing was printed after ${JSON.stringify(text)}:\n${outputs.join('\n')}`,
    );
    return word;
  }

  async #finish(commands: string): Promise<string> {
    const block = this.#start(`trap 'env -0 >${this.#stateFile}' EXIT\n${commands}`);
    await block.ended;
    const { hasFailed } = block;
    await block.kill();
    assert.ok(!hasFailed, `it failed:\n${block.output}`);
    const entries = readFileSync(this.#stateFile, 'utf8').split('\0').filter(Boolean);
    this.#environment = Object.fromEntries(
      entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
    );
    return block.output;
  }

  async #startUntil(commands: string, until: string): Promise<string> {
    const block = this.#start(commands);
    this.#running.push(block);
    await block.prints(until);
    return block.output;
  }

  #start(commands: string): Block {
    const args = [...this.#enter, 'bash', '-eu', '-o', 'pipefail', '-c', `exec 2>&1\n${commands}`];
    const { PWD } = this.#environment;
    // Its own process group, to end all processes that it starts.
    const block = new Block(
      spawn('env', args, {
        cwd: PWD,
        env: this.#environment,
        stdio: ['ignore', 'pipe', 'inherit'],
        detached: true,
      }),
    );
    this.#blocks.push(block);
    return block;
  }
}

class Block {
  output = '';
  readonly ended: Promise<unknown>;
  readonly #closed: Promise<unknown>;
  readonly #child: ChildProcess;
  readonly #timeout: NodeJS.Timeout;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      this.output += piece;
      child.emit('output');
    });
    this.ended = once(child, 'exit');
    this.#closed = once(child, 'close');
    this.#timeout = setTimeout(() => {
      this.output += `\n(ended after ${hangMsMax / 1000} s)\n`;
      void this.kill();
    }, hangMsMax);
  }

  async prints(text: string): Promise<void> {
    const closed = this.#closed.then(() => true);
    while (!this.output.includes(text)) {
      const isOver = await Promise.race([closed, once(this.#child, 'output').then(() => false)]);
      if (isOver && !this.output.includes(text))
        assert.fail(`it ended before it printed ${JSON.stringify(text)}:\n${this.output}`);
    }
    clearTimeout(this.#timeout);
  }

  get hasFailed(): boolean {
    return (this.#child.exitCode ?? 0) !== 0 || this.#child.signalCode !== null;
  }

  async kill(): Promise<void> {
    clearTimeout(this.#timeout);
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // The group has no process left.
    }
    await this.#closed;
  }
}

/** The commands after each `$`, and the output lines that the page shows below. */
function readConsole(text: string): { readonly typed: string; readonly printed: readonly string[] } {
  const isTyped = (line: string, index: number, lines: readonly string[]): boolean =>
    line.startsWith('$ ') || (lines[index - 1]?.endsWith('\\') ?? false);
  const lines = text.split('\n');
  return {
    typed: lines
      .filter(isTyped)
      .map((line) => line.replace(/^\$ /, ''))
      .join('\n'),
    printed: lines.filter((line, index) => !isTyped(line, index, lines) && line.trim() !== ''),
  };
}

/** Asserts that the lines appear in this order, with others between them allowed. */
function assertPrinted(output: string, lines: readonly string[]): void {
  let rest = output.split('\n').map(lasting);
  for (const line of lines) {
    const at = rest.indexOf(lasting(line));
    assert.ok(at >= 0, `it did not print ${JSON.stringify(line)} but\n${output}`);
    rest = rest.slice(at + 1);
  }
}

/** Removes from a line what differs from run to run: times, ids, tokens, folders, column widths. */
function lasting(line: string): string {
  return line
    .replace(/(?<![\w-])[\w-]{43}(?![\w-])|[0-9A-F]{20}|\d+/g, '0')
    .replace(/\/\S+\//g, '/')
    .replace(/\s+/g, ' ')
    .trim();
}
