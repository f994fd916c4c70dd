/** A command within the test: its data directory, a clock that the test drives, and what it says. */
import { join } from 'node:path';
import { Command } from 'commander';
import { CommandContext } from '../../src/cli/shell/command-context.ts';
import { DrivenClock } from './driven-clock.ts';
import { HeardOutput } from './received-output.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';

export interface CommandScene {
  readonly clock: DrivenClock;
  /** Not made yet. */
  readonly dataDirectory: string;
  readonly output: HeardOutput;
  readonly context: CommandContext;
  /** Rejects with what the command throws. */
  readonly run: (...args: readonly string[]) => Promise<void>;
}

/** `settings`: each `section.key=value`. */
export function commandScene(
  t: Ending,
  addCommand: (program: Command) => void,
  settings: readonly string[] = [],
  dataDirectory = join(temporaryDirectory(t), 'data'),
): CommandScene {
  const clock = new DrivenClock();
  const output = new HeardOutput();
  const context = new CommandContext({ dataDir: dataDirectory, set: settings }, {}, { clock, output });
  const run = async (...args: readonly string[]): Promise<void> => {
    const program = new Command().exitOverride();
    program.setOptionValue('context', context);
    addCommand(program);
    await program.parseAsync(args, { from: 'user' });
  };
  return { clock, dataDirectory, output, context, run };
}
