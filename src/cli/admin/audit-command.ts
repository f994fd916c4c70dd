/** `reveille audit`: what operators changed, from the files of the audit log, with or without a running server. */
import type { Command } from 'commander';
import type { AuditLine } from '../../model/audit.ts';
import { AuditFiles } from '../../storage/audit/audit-files.ts';
import { formatLocalTime } from '../api/events-text.ts';
import { addExamples, type CommandContext, untilInterrupted, inContext } from '../shell/command-context.ts';
import { collect, parseMoment, parseSpan, wholeNumberOption } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { followAudit } from './audit-follow.ts';

interface AuditOptions {
  /** How many of the newest. */
  readonly limit: number;
  /** The wall milliseconds to begin at. */
  readonly since?: (nowMs: number) => number;
  /** Actions, or beginnings of some and `*`. */
  readonly action?: readonly string[];
  readonly operator?: string;
  readonly follow?: boolean;
}

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
    .action(inContext(showAudit));
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

async function showAudit(
  { clock, dataDirectory, output }: CommandContext,
  options: AuditOptions,
): Promise<void> {
  const files = new AuditFiles(dataDirectory);
  const isWanted = filterOf(options, clock.wallMs());
  const show = (line: AuditLine): void => output.answer(line, describeAuditLine(line));
  try {
    const newest: AuditLine[] = [];
    for await (const { line } of files.read()) {
      if (isWanted(line)) newest.push(line);
      if (newest.length > options.limit) newest.shift();
    }
    for (const line of newest) show(line);
    if (options.follow === true) {
      const following = { clock, files, show: (line: AuditLine) => isWanted(line) && show(line) };
      return await untilInterrupted((signal) => followAudit(following, signal));
    }
    if (newest.length === 0) output.remark('no such change is in the audit log');
  } finally {
    await files.closeOld(0);
  }
}

function filterOf({ since, action, operator }: AuditOptions, nowMs: number): (line: AuditLine) => boolean {
  const fromMs = since?.(nowMs) ?? -Infinity;
  return (line) =>
    Date.parse(line.at) >= fromMs &&
    (operator === undefined || line.operator === operator || line.user === operator) &&
    (action === undefined || action.some((pattern) => isLike(line.action, pattern)));
}

function isLike(action: string, pattern: string): boolean {
  return pattern.endsWith('*') ? action.startsWith(pattern.slice(0, -1)) : action === pattern;
}

const actionWidth = 'credential.create'.length;
const whoWidth = 12;

/** Local time, action, operator, result, ids, and origin. */
function describeAuditLine(line: AuditLine): string {
  const { operator, user, from, action, ids, result, reason } = line;
  const who = user === undefined ? operator : `${operator}:${user}`;
  const cells = [
    formatLocalTime(Date.parse(line.at)),
    showable(action).padEnd(actionWidth),
    showable(who).padEnd(whoWidth),
    result.padEnd('refused'.length),
    ...Object.entries(ids).map(([name, value]) => `${name}=${showable(valueText(value))}`),
    `from ${showable(from)}`,
    ...(reason === undefined ? [] : [`: ${showable(reason)}`]),
  ];
  return cells.join('  ').replace('  : ', ': ');
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return /^\S+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value);
}
