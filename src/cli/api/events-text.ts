/**
 * Formats an event as one line for people, and parses `--since`, a place in the log. Ids come from devices and callers, so
 * control characters are escaped.
 */
import { InvalidArgumentError } from 'commander';
import { decodeCursor } from '../../protocol/rest/events.ts';
import { parseMoment, parseSpan } from '../shell/option-values.ts';
import type { WireEvent } from '../../gateways/admin/event-query.ts';
import { showable } from '../../lib/showable-text.ts';
import { formatLocalTime } from '../../server/bootstrap/log-text.ts';

/** Width of the longest type, so that lines align. */
const typeWidth = 'device.wakeup.completed'.length;
const deviceWidth = 16;

/** Local time, type, device, and a summary of the data. */
export function formatEvent(event: WireEvent): string {
  const device = showable(event.device_id).padEnd(deviceWidth);
  const cells = [
    formatLocalTime(Date.parse(event.at)),
    event.type.padEnd(typeWidth),
    device,
    summaryOf(event),
  ];
  return cells.join('  ').trimEnd();
}

/** The main fields of an event in a few words, such as the reason, the replaced session or the wake time. */
export function summaryOf({ type, epoch, data }: WireEvent): string {
  const words: string[] = [];
  const append = (key: string, before = ''): void => {
    const value = data[key];
    if (typeof value === 'string' || typeof value === 'number') words.push(before + showable(String(value)));
  };
  append('state');
  append('reason');
  if (data['replaced'] === true) words.push('replaced the previous session');
  if (type === 'device.wakeup.completed') words.push(`online after ${String(data['woke_after_ms'])} ms`);
  append('custom_data');
  append('request_id', 'request ');
  if (type.startsWith('call.')) append('session', 'session ');
  else if (epoch !== null) words.push(`epoch ${epoch}`);
  append('node', 'on ');
  return words.join(', ');
}

/** An age or a moment, in wall milliseconds. Throws InvalidArgumentError. */
export function parseSinceTime(text: string): (nowMs: number) => number {
  if (/^\d{1,9}[smhd]?$/.test(text)) {
    const spanMs = parseSpan(text) * 1000;
    return (nowMs) => Math.max(0, Math.floor(nowMs) - spanMs);
  }
  const atMs = parseMoment(text) * 1000;
  return () => atMs;
}

/** The query parameter of the ops listener for a starting place. */
export type EventsSince = (nowMs: number) => readonly [key: string, value: string];

const eventIdForm = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** An age, a moment, an event id or a cursor; reading starts after the latter two. Throws InvalidArgumentError. */
export function parseSince(text: string): EventsSince {
  if (eventIdForm.test(text)) return () => ['since', text.toLowerCase()];
  const sequence = decodeCursor(text);
  if (sequence !== null) return () => ['after', String(sequence)];
  try {
    const at = parseSinceTime(text);
    return (nowMs) => ['since', String(at(nowMs))];
  } catch {
    throw new InvalidArgumentError(
      'Expected a span like 10m, a moment like 2027-01-31T12:00:00Z, the id of an event, or a cursor of GET /v1/events.',
    );
  }
}
