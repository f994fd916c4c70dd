/** The words that a shell can complete, read from the program: each command's subcommands, options and choices. */
import type { Command, Option } from 'commander';

export interface CompletedOption {
  /** Such as `--follow` and `-f`. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  /** The only values there are; null: any. */
  readonly choices: readonly string[] | null;
  /** What the value is: a file, the name of a profile, or something else. */
  readonly value: 'file' | 'profile' | 'other';
}

export interface CompletedCommand {
  /** Its words, a space before each: `''` of the program itself, ` registry list`. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  /** Those of the program can be given to every command. */
  readonly options: readonly CompletedOption[];
  /** Those of its arguments. */
  readonly choices: readonly string[];
  readonly takesFile: boolean;
}

/** The program first. What the help does not show is left out. */
export function completedCommands(program: Command): readonly CompletedCommand[] {
  return describe(program, '');
}

function describe(command: Command, path: string): CompletedCommand[] {
  const { commands, registeredArguments } = command;
  const described = {
    path,
    commands: commands.map((child) => ({
      name: child.name(),
      description: firstSentence(child.description()),
    })),
    options: optionsOf(command).filter(({ flags }) => path === '' || !flags.includes('--help')),
    choices: registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    takesFile: registeredArguments.some((argument) => isFile(argument.name())),
  };
  return [described, ...commands.flatMap((child) => describe(child, `${path} ${child.name()}`))];
}

function optionsOf(command: Command): CompletedOption[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      flags: [option.long, option.short].filter((flag) => flag !== undefined && flag !== null),
      description: option.description,
      takesValue: option.required,
      choices: option.argChoices ?? null,
      value: valueOf(option),
    }));
}

function valueOf({ long, flags }: Option): CompletedOption['value'] {
  if (long === '--profile') return 'profile';
  const [, name = ''] = /[<[](\w+)/.exec(flags) ?? [];
  return isFile(name) ? 'file' : 'other';
}

function isFile(name: string): boolean {
  return name === 'file' || name === 'dir';
}

function firstSentence(text: string): string {
  return text.replace(/(?<=\.) .*$/s, '');
}

/** The flags that take a value, of all commands. */
export function valuedFlags(commands: readonly CompletedCommand[]): readonly string[] {
  const valued = commands.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue));
  return Array.from(new Set(valued.flatMap(({ flags }) => flags)));
}
