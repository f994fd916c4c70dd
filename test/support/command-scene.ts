/** Runs a command inside the test, with a data directory, a driven clock and captured output. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import type { Dialogue } from '../../src/cli/shell/dialogue.ts';
import { CommandContext, type GlobalOptions } from '../../src/cli/shell/command-context.ts';
import type { Output } from '../../src/cli/shell/output.ts';
import { DrivenClock } from './driven-clock.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';

class ReceivedOutput implements Output {
  readonly wantsJson = false;
  json: unknown = null;
  text = '';
  readonly texts: string[] = [];
  readonly remarks: string[] = [];

  answer(json: unknown, text: string): void {
    this.json = json;
    this.text = text;
    this.texts.push(text);
  }

  refusal(json: unknown, text: string): void {
    this.answer(json, text);
  }

  remark(text: string): void {
    this.remarks.push(text);
  }

  warning(text: string): void {
    this.remarks.push(text);
  }
}

export interface CommandScene {
  readonly clock: DrivenClock;
  /** Directory for a store that does not exist yet. */
  readonly dataDirectory: string;
  readonly output: ReceivedOutput;
  readonly run: (...args: readonly string[]) => Promise<void>;
}

export interface CommandSources extends Pick<GlobalOptions, 'config' | 'dataDir' | 'set'> {
  readonly env?: Readonly<Record<string, string>>;
  /** Default: no terminal. */
  readonly openDialogue?: () => Dialogue;
  readonly clock?: DrivenClock;
}

export function commandScene(
  t: Ending,
  addCommand: (program: Command) => void,
  { env = {}, openDialogue, clock = new DrivenClock(), ...options }: CommandSources = {},
): CommandScene {
  const dataDirectory = join(temporaryDirectory(t), 'data');
  mkdirSync(dataDirectory, { mode: 0o700 });
  const output = new ReceivedOutput();
  const context = new CommandContext({ dataDir: dataDirectory, ...options }, env, {
    clock,
    output,
    openDialogue: openDialogue ?? null,
  });
  const run = async (...args: readonly string[]): Promise<void> => {
    const program = new Command().exitOverride();
    program.setOptionValue('context', context);
    addCommand(program);
    await program.parseAsync(args, { from: 'user' });
  };
  return { clock, dataDirectory, output, run };
}
