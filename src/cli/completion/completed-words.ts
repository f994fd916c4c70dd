/** Collects the words that a shell can complete from the program: subcommands, options and choices of each command. */
import type { Command, Option } from 'commander';

export type CompletedOption = ReturnType<typeof optionsOf>[number];

export interface CompletedCommand {
  /** The command's words, each after a space: `''` for the program, ` registry list`. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  /** Options of the program itself are valid after every command. */
  readonly options: readonly CompletedOption[];
  readonly choices: readonly string[];
  readonly takesFile: boolean;
}

/** The program comes first. Hidden commands and options are omitted. */
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

function optionsOf(command: Command) {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      flags: [option.long, option.short].filter((flag) => flag !== undefined && flag !== null),
      description: option.description,
      takesValue: option.required,
      // The only valid values; null: any value.
      choices: option.argChoices ?? null,
      value: valueOf(option),
    }));
}

function valueOf({ long, flags }: Option): 'file' | 'profile' | 'other' {
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

export function valuedFlags(commands: readonly CompletedCommand[]): readonly string[] {
  const valued = commands.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue));
  return Array.from(new Set(valued.flatMap(({ flags }) => flags)));
}
