/** `reveille init` at a terminal, and a server started with its output. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { LongCommand, runCli } from '../support/cli-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { runArgs } from '../support/checkout.ts';

/** Reason to skip tests at a terminal; false: they run. */
const noTerminal = process.platform !== 'linux' && 'script has other options there';

class PseudoTerminal {
  shown = '';
  readonly #script: ChildProcess;
  readonly #ended: Promise<unknown[]>;
  #onShown: () => void = () => undefined;

  /** `args`: arguments of `reveille`. */
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

  /** Resolves when the text was shown so often; rejects when the command ends before. */
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

  /** Exit code of the command. */
  async ended(): Promise<unknown> {
    return (await this.#ended)[0];
  }
}

test(
  'answers at a terminal create a working server, whose device sleeps and is woken',
  { skip: noTerminal },
  async (t) => {
    const folder = temporaryDirectory(t);
    const file = join(folder, 'reveille.json');
    const light = ['media.process=none', 'auth.verification=inline'].flatMap((setting) => ['--set', setting]);
    const terminal = new PseudoTerminal(t, [
      'init',
      '--config',
      file,
      '--data-dir',
      join(folder, 'data'),
      ...light,
    ]);
    const answers = {
      'Address to listen on': '',
      'Port of the API': '0',
      'Certificate for TLS': '',
      'Id of the first application': 'acme',
      'Id of its first product': '',
      'Id of a device for a trial': 'DOOR-1',
      'File for the secrets': '',
      [`Write ${file}`]: '',
    };
    for (const [question, answer] of Object.entries(answers)) {
      await terminal.sees(question);
      terminal.type(`${answer}\n`);
    }
    assert.equal(await terminal.ended(), 0);
    assert.match(terminal.shown, /secret key .*\(shown this once\)[^]*Next, each in a terminal of its own:/);
    assert.match(readFileSync(file, 'utf8'), /"process": "none"/);

    const server = new LongCommand(t, ['serve', '--config', file]);
    await server.logged('ready');
    assert.doesNotMatch(server.stderr, /demo application/);
    const devices = new LongCommand(t, ['simulate', '--devices', '1', '--online-for', '1', '--config', file]);
    await devices.line((line) => line.includes('asleep'));
    const woken = await runCli(['wake', 'DOOR-1', '--wait', '--config', file]);
    assert.equal(woken.exitCode, 0, woken.stderr);
    assert.equal(await devices.stop('SIGTERM'), 0);
    assert.equal(await server.stop('SIGTERM'), 0);
  },
);

test('Ctrl-C at a question writes nothing', { skip: noTerminal }, async (t) => {
  const folder = temporaryDirectory(t);
  const places = ['--config', join(folder, 'reveille.json'), '--data-dir', join(folder, 'data')];
  const terminal = new PseudoTerminal(t, ['init', ...places]);
  await terminal.sees('Address to listen on');
  terminal.type('\u0003');
  assert.equal(await terminal.ended(), 1);
  assert.match(terminal.shown, /cancelled: nothing was written/);
  assert.deepEqual(readdirSync(folder), []);
});
