/** A line of the audit log for people. */
import type { AuditLine } from '../../model/audit.ts';
import { formatLocalTime } from '../api/events-line.ts';
import { showable } from '../shell/showable.ts';

const actionWidth = 'credential.create'.length;
const whoWidth = 12;

/** Local time, action, who, result, the ids, and from where. */
export function describeAuditLine(line: AuditLine): string {
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
