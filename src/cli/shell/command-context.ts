/**
 * The context of every command: the options that all of them take, the settings in force, a clock, an output, and the
 * user, who may end what takes long.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Clock } from '../../lib/clock.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import type { Settings } from '../../server/config/settings-schema.ts';
import { loadSettings, type SettingsSources } from '../../server/config/settings.ts';
import { repeatInAdvice } from './command-error.ts';
import { confirmOnTerminal, type Confirm } from './confirmation.ts';
import { ProcessOutput, type Output, ProgressLine } from './output.ts';

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
  readonly confirm?: Confirm | null;
}

export class CommandContext {
  readonly clock: Clock;
  readonly output: Output;
  /** Null: nobody is there who could be asked. */
  readonly confirm: Confirm | null;
  readonly settingsSources: SettingsSources;
  #settings: Settings | null = null;

  constructor(
    options: GlobalOptions,
    env: SettingsSources['env'] = process.env,
    {
      clock = new SystemClock(),
      output = new ProcessOutput(options.json === true),
      confirm = options.json === true ? null : confirmOnTerminal(),
    }: CommandSurroundings = {},
  ) {
    this.clock = clock;
    this.output = output;
    this.confirm = confirm;
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

/** An action of commander, given the context of its command in front of its arguments and options. */
export function inContext(
  act: (context: CommandContext, ...args: never[]) => Promise<void> | void,
): (...given: unknown[]) => Promise<void> | void {
  return (...given) => act(contextOf(given.at(-1) as Command), ...(given.slice(0, -1) as never[]));
}

/** The context of an action: the option value `context` of the program, else one made from its options. */
function contextOf(command: Command): CommandContext {
  const { context, ...options } = command.optsWithGlobals<GlobalOptions & { context?: CommandContext }>();
  if (context !== undefined) return context;
  repeatInAdvice(placeOptionsOf(options));
  return new CommandContext(options);
}

/** Those of the given options that say which server or store is meant. */
function placeOptionsOf({ config, dataDir, set = [] }: GlobalOptions): [flag: string, value: string][] {
  return [
    ...(config === undefined ? [] : [['--config', config] as [string, string]]),
    ...(dataDir === undefined ? [] : [['--data-dir', dataDir] as [string, string]]),
    ...set.map((value): [string, string] => ['--set', value]),
  ];
}

/** Adds examples to a command's help: each is the rest of a command line behind `reveille`, and its purpose. */
export function addExamples(
  command: Command,
  ...examples: readonly (readonly [line: string, purpose: string])[]
): Command {
  const lines = examples.map(([line, purpose]) => `  # ${purpose}\n  $ reveille ${line}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n\n')}`);
}

/** Aborts `work` on the first Ctrl-C or SIGTERM; a second one ends the process at once. */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interruption = new AbortController();
  const interrupt = (): void => {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    interruption.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    await work(interruption.signal);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

/** Resolves after `ms` of monotonic time, which may be Infinity, or when `signal` is aborted. */
export function pauseUnless(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = ms === Infinity ? () => undefined : clock.after(ms, end);
    signal.addEventListener('abort', end);
  });
}
