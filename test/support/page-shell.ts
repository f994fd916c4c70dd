/** The terminals of somebody who follows a page: runs its blocks in order, in one folder and with what they export. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DocumentBlock, Mark } from './document-blocks.ts';
import { hangMsMax } from './hang-limit.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';

const installed = 'npm() { [[ $1 == ci ]] || command npm "$@"; }\n';
const demoServer = { commands: 'npm start', until: '"msg":"ready"' };

export class PageShell {
  #environment: NodeJS.ProcessEnv;
  readonly #enter: readonly string[];
  readonly #stateFile: string;
  readonly #blocks: Block[] = [];
  readonly #goingOn: Block[] = [];

  /** `environment`: its `PWD` is the folder. `enter`: a command that runs the one after it in a network of its own. */
  constructor(t: Ending, environment: NodeJS.ProcessEnv, enter: readonly string[] = []) {
    this.#environment = environment;
    this.#enter = enter;
    this.#stateFile = join(temporaryDirectory(t), 'environment');
    t.after(async () => void (await Promise.all(this.#goingOn.map((block) => block.kill()))));
  }

  /** Resolves to what it printed; rejects, with that, when a command of it fails or it does not print what the page says. */
  async run({ language, text, marks }: DocumentBlock): Promise<string> {
    for (const mark of marks) await this.#prepare(mark);
    const { typed, printed } = language === 'console' ? readConsole(text) : { typed: text, printed: [] };
    const commands = marks.some(({ kind }) => kind === 'installed') ? installed + typed : typed;
    const until = marks.find((mark) => mark.kind === 'until')?.text;
    const output = await (until === undefined ? this.#finish(commands) : this.#goOn(commands, until));
    assertPrinted(output, printed);
    return output;
  }

  /** Rejects when a block that was to go on has failed meanwhile. */
  checkGoingOn(): void {
    for (const block of this.#goingOn) assert.ok(!block.hasFailed, `it went on and failed:\n${block.output}`);
  }

  async #prepare({ kind, name, text }: Mark): Promise<void> {
    if (kind === 'stop') await this.#stop();
    if (kind === 'server') await this.#goOn(demoServer.commands, demoServer.until);
    if (kind === 'take') this.#environment[name] = this.#printedAfter(text);
  }

  /** A reader's Ctrl-C in every terminal. */
  async #stop(): Promise<void> {
    this.checkGoingOn();
    await Promise.all(this.#goingOn.splice(0).map((block) => block.kill()));
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

  async #goOn(commands: string, until: string): Promise<string> {
    const block = this.#start(commands);
    this.#goingOn.push(block);
    await block.prints(until);
    return block.output;
  }

  #start(commands: string): Block {
    const args = [...this.#enter, 'bash', '-eu', '-o', 'pipefail', '-c', `exec 2>&1\n${commands}`];
    const { PWD } = this.#environment;
    // A group of its own, to end whatever it starts.
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

/** A block under way, with what it printed so far. */
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

  /** With all that it has started. */
  async kill(): Promise<void> {
    clearTimeout(this.#timeout);
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // Nothing of it is left.
    }
    await this.#closed;
  }
}

/** What a reader types after each `$`, and the lines that the page shows below. */
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

/** In this order, other lines between them. */
function assertPrinted(output: string, lines: readonly string[]): void {
  let rest = output.split('\n').map(lasting);
  for (const line of lines) {
    const at = rest.indexOf(lasting(line));
    assert.ok(at >= 0, `it did not print ${JSON.stringify(line)} but\n${output}`);
    rest = rest.slice(at + 1);
  }
}

/** A line without what differs from run to run: times, ids, tokens, folders, the widths of columns. */
function lasting(line: string): string {
  return line
    .replace(/(?<![\w-])[\w-]{43}(?![\w-])|[0-9A-F]{20}|\d+/g, '0')
    .replace(/\/\S+\//g, '/')
    .replace(/\s+/g, ' ')
    .trim();
}
