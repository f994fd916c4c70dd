/** `reveille audit`: what operators changed, as the audit log has it. */
import type { Command } from 'commander';
import { addExamples, contextOf } from '../shell/command-context.ts';
import { showAudit, type AuditOptions } from './audit-action.ts';
import { parseMoment, parseSpan, wholeNumberOption } from '../shell/option-values.ts';

const shownMax = 10_000;

export function addAuditCommand(program: Command): void {
  const command = program
    .command('audit')
    .description('Show what operators changed, oldest first: a line a change. Whether a server runs or not.')
    .option('--limit <count>', 'the newest so many', wholeNumberOption(1, shownMax), 50)
    .option('--since <when>', 'only from there: 10m, or a moment', parseSince)
    .option('--action <action>', 'only this one; ends with * for all that begin so; may be repeated', collect)
    .option('--operator <name>', 'only of this token; local, cli, signal and start stand for none')
    .option('-f, --follow', 'go on until Ctrl-C, also over a restart of the server')
    .action((options: AuditOptions, self: Command) => showAudit(contextOf(self), options));
  addExamples(
    command,
    ['audit', 'the newest 50 changes'],
    ['audit --follow', 'and those from now on'],
    ["audit --since 24h --action 'credential.*'", 'what became of credentials since yesterday'],
    ['audit --operator alice --json', 'what one operator changed, for machines'],
  );
}

const spanForm = /^\d{1,9}[smhd]?$/;

/** Throws InvalidArgumentError. */
function parseSince(text: string): (nowMs: number) => number {
  if (!spanForm.test(text)) {
    const atMs = parseMoment(text) * 1000;
    return () => atMs;
  }
  const spanMs = parseSpan(text) * 1000;
  return (nowMs) => nowMs - spanMs;
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
