/**
 * A line of the audit log as text: one JSON object, then blanks up to its length. It is written with the result
 * `unknown` before the change, and written over in its place behind it, so that a change has one line and a full disk
 * cannot hide how it ended.
 */
import { auditListItemsMax, auditOutcomeBytes, auditTextCharactersMax } from '../../model/limits.ts';
import type { AuditId, AuditIds, AuditIntent, AuditLine, AuditOutcome } from '../../model/audit.ts';

/** A line whose change is under way. */
export function begunLine(intent: AuditIntent, atMs: number): AuditLine {
  const { operator, role, user, from, action, ids } = intent;
  const at = new Date(atMs).toISOString();
  const who = { operator, role, ...(user !== undefined && { user }), from };
  return { at, ...who, action, ids: shownIds(ids), result: 'unknown' };
}

/** The same line, once it is known how it ended. */
export function endedLine(begun: AuditLine, { result, reason, ids = {} }: AuditOutcome): AuditLine {
  return {
    ...begun,
    ids: { ...begun.ids, ...shownIds(ids) },
    result,
    ...(reason !== undefined && { reason: cut(reason.replaceAll(urlForm, withoutCredentials)) }),
  };
}

const urlForm = /\bhttps?:\/\/[^\s"']+/g;

/** With its line feed, and room for what the end of the change adds. */
export function encodeBegun(line: AuditLine): Buffer {
  const text = JSON.stringify(line);
  return padded(text, Buffer.byteLength(text) + auditOutcomeBytes);
}

/** `bytes` long: as much of the line as has room, its result in any case. */
export function encodeEnded(begun: AuditLine, outcome: AuditOutcome, bytes: number): Buffer {
  const { result, ids = {} } = outcome;
  const forms: readonly AuditOutcome[] = [outcome, { result, ids }, { result }];
  const texts = forms.map((form) => JSON.stringify(endedLine(begun, form)));
  const text = texts.find((each) => Buffer.byteLength(each) < bytes) ?? '';
  return padded(text, bytes - 1);
}

/** Null: no line of ours, or half of one. */
export function parseAuditLine(text: string): AuditLine | null {
  try {
    const line: unknown = JSON.parse(text);
    const isOurs = typeof line === 'object' && line !== null && 'action' in line && 'result' in line;
    return isOurs ? (line as AuditLine) : null;
  } catch {
    return null;
  }
}

function padded(text: string, bytes: number): Buffer {
  return Buffer.from(`${text}${' '.repeat(bytes - Buffer.byteLength(text))}\n`);
}

/** As long as a line may be, and without what is none of a log's business. */
function shownIds(ids: AuditIds): AuditIds {
  const entries = Object.entries(ids) as [AuditId, unknown][];
  return Object.fromEntries(
    entries.flatMap(([name, value]) => {
      const shown = name === 'url' && typeof value === 'string' ? withoutCredentials(value) : value;
      const item = shownValue(shown);
      return item === undefined ? [] : [[name, item]];
    }),
  );
}

/** Scalars, lists of texts and counts; anything else comes from a body that is none, and is left out. */
function shownValue(value: unknown): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value))
    return value.slice(0, auditListItemsMax).map((item) => (typeof item === 'string' ? cut(item) : '…'));
  if (typeof value !== 'object' || value === null) return undefined;
  const counts = Object.entries(value).filter(([, count]) => typeof count === 'number');
  return Object.fromEntries(counts.slice(0, auditListItemsMax).map(([name, count]) => [cut(name), count]));
}

/** A receiver's address may have a password or a key in it. */
function withoutCredentials(url: string): string {
  try {
    const { origin, pathname, search } = new URL(url);
    return `${origin}${pathname}${search === '' ? '' : '?…'}`;
  } catch {
    return '…';
  }
}

function cut(text: string): string {
  if (text.length <= auditTextCharactersMax) return text;
  return `${text.slice(0, auditTextCharactersMax - 1)}…`;
}
