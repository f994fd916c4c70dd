/** `reveille audit`: the changes that operators made, as the running server has them in its audit log. */
import type { Command } from 'commander';
import type { AuditLine } from '../../model/audit.ts';
import { auditShownMax, type AuditAnswer } from '../../gateways/admin/audit-routes.ts';
import { opsClient } from './running-server.ts';
import { formatLocalTime } from '../../server/bootstrap/log-text.ts';
import { parseSinceTime } from '../api/events-text.ts';
import { newCommand, type CommandContext, untilInterrupted, inContext } from '../shell/command-context.ts';
import { collect, wholeNumberOption } from '../shell/option-values.ts';
import { showable } from '../../lib/showable-text.ts';
import { follow, retryMs, type Shown } from './follow.ts';

interface AuditOptions {
  readonly limit: number;
  /** Start time, wall milliseconds. */
  readonly since?: (nowMs: number) => number;
  /** Actions, or prefixes that end in `*`. */
  readonly action?: readonly string[];
  readonly operator?: string;
  readonly follow?: boolean;
}

export function addAuditCommand(program: Command): void {
  newCommand(
    program,
    'audit',
    'Show the changes that operators made, oldest first, one per line.',
    '--follow',
    "--since 24h --action 'credential.*'",
  )
    .option(
      '--limit <count>',
      'show the newest changes, up to this number',
      wholeNumberOption(1, auditShownMax),
      50,
    )
    .option('--since <when>', 'show changes since an age like 10m, or a moment', parseSinceTime)
    .option(
      '--action <action>',
      'show only this action, or a prefix that ends in *; may be repeated',
      collect,
    )
    .option('--operator <name>', 'show only changes by this token, or by local, cli, signal or start')
    .option('-f, --follow', 'continue until Ctrl-C, across restarts of the server')
    .action(inContext(showAudit));
}

const followedLines = '1000';

async function showAudit(
  context: CommandContext,
  { limit, since, action, operator, follow: isFollowed }: AuditOptions,
): Promise<void> {
  const { clock, output } = context;
  const filter = {
    ...(since !== undefined && { since: String(since(clock.wallMs())) }),
    ...(action !== undefined && { action: action.join(',') }),
    ...(operator !== undefined && { operator }),
  };
  const ask = async (more: Record<string, string>, signal?: AbortSignal): Promise<AuditAnswer> =>
    opsClient(context).ask<AuditAnswer>('/v1/audit', new URLSearchParams({ ...filter, ...more }), signal);
  const show = ({ lines, next }: AuditAnswer): Shown<string> => {
    for (const line of lines) output.answer(line, describeAuditLine(line));
    return { next, pauseMs: retryMs, isStopping: false };
  };
  const newest = await ask({ limit: String(limit) });
  const { next } = show(newest);
  if (isFollowed === true) {
    const followed = {
      clock,
      ask: (after: string, signal: AbortSignal) => ask({ after, limit: followedLines }, signal),
      show,
      remark: (text: string) => output.remark(text),
    };
    return untilInterrupted((signal) => follow(followed, next, signal));
  }
  if (newest.lines.length === 0) output.remark('the audit log has no such change');
}

const actionWidth = 'credential.create'.length;
const whoWidth = 12;

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
