/** Parses the command lines in `deploy/` as the program does. */
import assert from 'node:assert/strict';
import { buildProgram } from '../../src/program.ts';

export interface CommandLine {
  readonly command: string;
  /** Options of the command, by name. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** `args`: arguments after the program's name. Rejects for a command, option or value that the program refuses. */
export async function parseCommandLine(args: readonly string[]): Promise<CommandLine> {
  const program = await buildProgram(args);
  const name = args[0] ?? '';
  const command = program.commands.find((one) => one.name() === name) ?? assert.fail(`no command ${name}`);
  command.exitOverride();
  const { operands, unknown } = command.parseOptions(args.slice(1));
  assert.deepEqual([operands, program.parseOptions(unknown).unknown], [[], []]);
  return { command: name, options: command.opts() };
}

/** Settings that options of `serve` override, each `section.key=value`. */
export function overridesOf({ command, options }: CommandLine): string[] {
  const { edges = '0', fronts = '0' } = options as { readonly edges?: string; readonly fronts?: string };
  return command === 'serve' ? [`sleep.edges=${edges}`, `api.fronts=${fronts}`] : [];
}
