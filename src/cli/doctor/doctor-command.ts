/** `reveille doctor`: looks over a machine before it goes live. Exits 1 when a check fails. */
import { styleText } from 'node:util';
import type { Command } from 'commander';
import { addExamples, type CommandContext, inLocalContext } from '../shell/command-context.ts';
import { checkFiles, checkMachine, checkPorts, type Finding } from './doctor-machine.ts';
import { checkRegistry } from './doctor-registry.ts';
import { counted } from '../shell/option-values.ts';

export function addDoctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('Look over this machine and its settings; say what is wrong and what to do about it.')
    .action(inLocalContext(examine));
  addExamples(
    command,
    ['doctor', 'before a first start, or beside a running server'],
    ['doctor --config production.json', 'with the settings it will run with'],
    ['doctor --json', 'for machines: {"ok":…,"findings":[…]}'],
  );
}

async function examine(context: CommandContext): Promise<void> {
  const findings = [
    ...(await checkMachine(context)),
    ...checkFiles(context),
    ...(await checkRegistry(context)),
    ...(await checkPorts(context)),
  ];
  const failed = findings.filter(({ state }) => state === 'fail').length;
  const warned = findings.filter(({ state }) => state === 'warn').length;
  const verdict = `${counted(findings.length, 'check')}, ${failed} failed, ${warned} with a warning`;
  context.output.answer(
    { ok: failed === 0, findings },
    [...findings.map(describeFinding), verdict].join('\n'),
  );
  if (failed > 0) process.exitCode = 1;
}

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

function describeFinding({ check, state, found, advice }: Finding): string {
  const isTerminal = process.stdout.isTTY && process.env['NO_COLOR'] === undefined;
  const mark = state.padEnd(4);
  const line = `${isTerminal ? styleText(colours[state], mark) : mark}  ${check.padEnd(16)}  ${found}`;
  return advice === null ? line : `${line}\n${' '.repeat(24)}${advice}`;
}
