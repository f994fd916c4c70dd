/**
 * The context of every command: the options that all of them take, the settings in force, a clock, an output, and the
 * user, who may end what takes long.
 */
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
  /** Null: nobody is there who could be asked. */
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

  /** The same with more settings, which prevail; one that is undefined is not given. */
  with(settings: Readonly<Record<string, string | undefined>>): CommandContext {
    const { clock, output, openDialogue, settingsSources } = this;
    const more = Object.entries(settings).flatMap(([name, value]) =>
      value === undefined ? [] : `${name}=${value}`,
    );
    const options = { ...this.#place, set: [...(this.#place.set ?? []), ...more] };
    return new CommandContext(options, settingsSources.env, { clock, output, openDialogue });
  }

  /** The server elsewhere that is meant; null: this machine. Throws a CommandError. */
  get profile(): ChosenProfile | null {
    if (this.#profile === undefined) this.#profile = chooseProfile(this.#place, this.settingsSources.env);
    return this.#profile;
  }

  /** Those of this machine. Throws a SettingsError, and a usage error where a server elsewhere is meant. */
  get settings(): Settings {
    return this.configured.settings;
  }

  /** The same with their sources. Throws like `settings`. */
  get configured(): ConfiguredSettings {
    this.refuseProfile();
    return (this.#configured ??= loadConfigured(this.settingsSources));
  }

  /** An absolute path. Throws like `settings`. */
  get dataDirectory(): string {
    return resolve(this.settings.data.dir);
  }

  /** Throws a usage error where a server elsewhere is meant. */
  refuseProfile(): void {
    if (this.profile === null) return;
    throw usageError(
      `this works on this machine only, and the profile ${this.profile.name} is for a server elsewhere`,
      'leave --profile and REVEILLE_PROFILE out',
    );
  }

  newProgressLine(): ProgressLine {
    return new ProgressLine(process.stderr, this.clock);
  }
}

/** An action of commander, given the context of its command in front of its arguments and options. */
export function inContext(
  act: (context: CommandContext, ...args: never[]) => Promise<void> | void,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => act(contextOf(given.at(-1) as Command), ...(given.slice(0, -1) as never[]));
}

/** The same for a command about this machine: a profile is refused. */
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

/** The context of an action: the option value `context` of the program, else one made from its options. */
function contextOf(command: Command): CommandContext {
  const { context, ...options } = command.optsWithGlobals<GivenOptions>();
  if (context !== undefined) return context;
  repeatInAdvice(placeOptionsOf(options));
  return new CommandContext(options);
}

/** Those of the given options that say which server or store is meant. */
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

/** A line to type, which may have its purpose. */
type Example = string | readonly [typed: string, purpose: string];

/** `parent`: the program, or a group. `given`: examples of the words behind it, for the end of its help; none are needed. */
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

/** For the end of a help: each is the rest of a command line behind `reveille`. */
export function examples(...given: readonly Example[]): string {
  const lines = given.map((example) =>
    typeof example === 'string' ? `  $ reveille ${example}` : `  # ${example[1]}\n  $ reveille ${example[0]}`,
  );
  return `\nExamples:\n${lines.join('\n')}`;
}

let interruptWork: (() => void) | null = null;

/**
 * Aborts `work` on the first Ctrl-C or SIGTERM, when its terminal is closed, and by `interruptUnread`; a second Ctrl-C or
 * SIGTERM ends the process at once.
 */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interruption = new AbortController();
  const interrupt = (): void => {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    interruption.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  // Elsewhere nohup may have it ignored, which a listener would undo.
  if (process.stdout.isTTY) process.on('SIGHUP', interrupt);
  interruptWork = interrupt;
  try {
    await work(interruption.signal);
  } finally {
    interruptWork = null;
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt).off('SIGHUP', interrupt);
  }
}

/** Nobody reads any more what is printed: aborts the work under way, which may have something to undo. False: there is none. */
export function interruptUnread(): boolean {
  interruptWork?.();
  return interruptWork !== null;
}

/** Resolves after `ms` of monotonic time, which may be Infinity, or when `signal` is aborted. */
export async function pauseUnless(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms !== Infinity) return pause(clock, ms, signal).catch(() => undefined);
  if (!signal.aborted) await once(signal, 'abort');
}
