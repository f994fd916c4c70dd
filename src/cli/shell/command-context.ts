/** The context of every command: common options, settings in force, clock, output, and cancellation by the user. */
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { pause, type Clock } from '../../lib/clock.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import type { Settings } from '../../server/config/settings-schema.ts';
import {
  loadConfigured,
  type ConfiguredSettings,
  type SettingsSources,
} from '../../server/config/settings.ts';
import { repeatInAdvice, usageError } from './command-error.ts';
import { chooseProfile, type ChosenProfile, type GivenPlace } from '../profile/profiles.ts';
import { dialogueOnTerminal, type Dialogue } from './dialogue.ts';
import { ProcessOutput, type Output, ProgressLine } from './output.ts';

export interface GlobalOptions extends GivenPlace {
  readonly json?: boolean;
}

/** Each defaults to that of the process. */
interface CommandSurroundings {
  readonly clock?: Clock;
  readonly output?: Output;
  readonly openDialogue?: (() => Dialogue) | null;
}

export class CommandContext {
  readonly clock: Clock;
  readonly output: Output;
  /** Null: there is no terminal to ask at. */
  readonly openDialogue: (() => Dialogue) | null;
  readonly settingsSources: SettingsSources;
  readonly #place: GivenPlace;
  #profile: ChosenProfile | null | undefined;
  #configured: ConfiguredSettings | null = null;

  constructor(
    options: GlobalOptions,
    env: SettingsSources['env'] = process.env,
    {
      clock = new SystemClock(),
      output = new ProcessOutput(options.json === true),
      openDialogue = options.json === true ? null : dialogueOnTerminal(),
    }: CommandSurroundings = {},
  ) {
    this.clock = clock;
    this.output = output;
    this.openDialogue = openDialogue;
    this.#place = options;
    const dataDirectory = options.dataDir === undefined ? [] : [`data.dir=${options.dataDir}`];
    this.settingsSources = {
      file: options.config,
      env,
      overrides: [...(options.set ?? []), ...dataDirectory],
    };
  }

  /** A copy with additional settings, which take precedence; undefined ones are ignored. */
  with(settings: Readonly<Record<string, string | undefined>>): CommandContext {
    const { clock, output, openDialogue, settingsSources } = this;
    const more = Object.entries(settings).flatMap(([name, value]) =>
      value === undefined ? [] : `${name}=${value}`,
    );
    const options = { ...this.#place, set: [...(this.#place.set ?? []), ...more] };
    return new CommandContext(options, settingsSources.env, { clock, output, openDialogue });
  }

  /** The selected remote server; null: this machine. Throws a CommandError. */
  get profile(): ChosenProfile | null {
    if (this.#profile === undefined) this.#profile = chooseProfile(this.#place, this.settingsSources.env);
    return this.#profile;
  }

  /** Settings of this machine. Throws a SettingsError, or a usage error if a remote server is selected. */
  get settings(): Settings {
    return this.configured.settings;
  }

  /** The settings with their sources. Throws like `settings`. */
  get configured(): ConfiguredSettings {
    this.refuseProfile();
    return (this.#configured ??= loadConfigured(this.settingsSources));
  }

  /** An absolute path. Throws like `settings`. */
  get dataDirectory(): string {
    return resolve(this.settings.data.dir);
  }

  /** Throws a usage error if a remote server is selected. */
  refuseProfile(): void {
    if (this.profile === null) return;
    throw usageError(
      `this command works on this machine only, and the profile ${this.profile.name} selects a remote server`,
      'omit --profile, and unset REVEILLE_PROFILE',
    );
  }

  newProgressLine(): ProgressLine {
    return new ProgressLine(process.stderr, this.clock);
  }
}

/** Wraps an action for commander: it receives the context, then the arguments and options. */
export function inContext(
  act: (context: CommandContext, ...args: never[]) => Promise<void> | void,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => act(contextOf(given.at(-1) as Command), ...(given.slice(0, -1) as never[]));
}

/** As `inContext`, for a command about this machine only: a profile is refused. */
export function inLocalContext(
  act: (context: CommandContext, ...args: never[]) => Promise<void> | void,
): (...given: unknown[]) => Promise<void> {
  return inContext((context, ...args) => {
    context.refuseProfile();
    return act(context, ...args);
  });
}

interface GivenOptions extends GlobalOptions {
  readonly context?: CommandContext;
}

/** The option value `context` of the program, else a context made from its options. */
function contextOf(command: Command): CommandContext {
  const { context, ...options } = command.optsWithGlobals<GivenOptions>();
  if (context !== undefined) return context;
  repeatInAdvice(placeOptionsOf(options));
  return new CommandContext(options);
}

function placeOptionsOf({
  config,
  dataDir,
  profile,
  set = [],
}: GlobalOptions): [flag: string, value: string][] {
  const single = { '--config': config, '--data-dir': dataDir, '--profile': profile };
  return [
    ...Object.entries(single).flatMap(([flag, value]): [string, string][] => (value ? [[flag, value]] : [])),
    ...set.map((value): [string, string] => ['--set', value]),
  ];
}

/** An example command, optionally with its purpose. */
type Example = string | readonly [typed: string, purpose: string];

/** `parent`: the program or a group. `given`: examples for the end of the help, without the name of the command. */
export function newCommand(
  parent: Command,
  name: string,
  description: string,
  ...given: readonly Example[]
): Command {
  const words = parent.parent === null ? name : `${parent.name()} ${name}`;
  const lines = (given.length === 0 ? [''] : given).map((example): Example => {
    const [rest, purpose] = typeof example === 'string' ? [example] : example;
    const line = `${words} ${rest}`.trimEnd();
    return purpose === undefined ? line : [line, purpose];
  });
  return parent
    .command(name)
    .description(description)
    .addHelpText('after', examples(...lines));
}

/** The examples at the end of a help; each is a command line without `reveille`. */
export function examples(...given: readonly Example[]): string {
  const lines = given.map((example) =>
    typeof example === 'string' ? `  $ reveille ${example}` : `  # ${example[1]}\n  $ reveille ${example[0]}`,
  );
  return `\nExamples:\n${lines.join('\n')}`;
}

let interruptWork: (() => void) | null = null;

/**
 * Aborts `work` on the first Ctrl-C or SIGTERM, when the terminal is closed, or by `interruptUnread`; a second signal ends the
 * process at once.
 */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interruption = new AbortController();
  const interrupt = (): void => {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    interruption.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  // Under nohup SIGHUP is ignored; a listener would undo that.
  if (process.stdout.isTTY) process.on('SIGHUP', interrupt);
  interruptWork = interrupt;
  try {
    await work(interruption.signal);
  } finally {
    interruptWork = null;
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt).off('SIGHUP', interrupt);
  }
}

/** Aborts running work because its output has no reader any more, so that it can undo its effects. False: nothing is running. */
export function interruptUnread(): boolean {
  interruptWork?.();
  return interruptWork !== null;
}

/** Resolves after `ms` of monotonic time, which may be Infinity, or when `signal` is aborted. */
export async function pauseUnless(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms !== Infinity) return pause(clock, ms, signal).catch(() => undefined);
  if (!signal.aborted) await once(signal, 'abort');
}
