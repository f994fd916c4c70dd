/** The context of every command: the options that all of them take, the settings in force, a clock and an output. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Clock } from '../../lib/clock.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import type { Settings } from '../../server/config/settings-schema.ts';
import { loadSettings, type SettingsSources } from '../../server/config/settings.ts';
import { ProcessOutput, type Output } from './output.ts';
import { ProgressLine } from './progress-line.ts';

export interface GlobalOptions {
  readonly config?: string;
  readonly dataDir?: string;
  readonly set?: readonly string[];
  readonly json?: boolean;
}

/** Each defaults to that of the process. */
interface CommandSurroundings {
  readonly clock?: Clock;
  readonly output?: Output;
}

export class CommandContext {
  readonly clock: Clock;
  readonly output: Output;
  readonly settingsSources: SettingsSources;
  #settings: Settings | null = null;

  constructor(
    options: GlobalOptions,
    env: SettingsSources['env'] = process.env,
    {
      clock = new SystemClock(),
      output = new ProcessOutput(options.json === true),
    }: CommandSurroundings = {},
  ) {
    this.clock = clock;
    this.output = output;
    const dataDirectory = options.dataDir === undefined ? [] : [`data.dir=${options.dataDir}`];
    this.settingsSources = {
      file: options.config,
      env,
      overrides: [...(options.set ?? []), ...dataDirectory],
    };
  }

  /** Throws a SettingsError. */
  get settings(): Settings {
    this.#settings ??= loadSettings(this.settingsSources);
    return this.#settings;
  }

  /** An absolute path. */
  get dataDirectory(): string {
    return resolve(this.settings.data.dir);
  }

  newProgressLine(): ProgressLine {
    return new ProgressLine(process.stderr, this.clock);
  }
}

/** The context of an action: the option value `context` of the program, else one made from its options. */
export function contextOf(command: Command): CommandContext {
  const { context, ...options } = command.optsWithGlobals<GlobalOptions & { context?: CommandContext }>();
  return context ?? new CommandContext(options);
}

/** Adds examples to a command's help: each is the rest of a command line behind `reveille`, and its purpose. */
export function addExamples(
  command: Command,
  ...examples: readonly (readonly [line: string, purpose: string])[]
): Command {
  const lines = examples.map(([line, purpose]) => `  # ${purpose}\n  $ reveille ${line}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n\n')}`);
}
