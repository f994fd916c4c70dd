/** One event as a line for people. Ids come from devices and callers: what a terminal would obey is shown escaped. */
import type { WireEvent } from '../../gateways/admin/event-query.ts';
import { showable } from '../shell/showable.ts';

/** `2026-11-20 09:30:00.123` where the reader is. */
export function formatLocalTime(ms: number): string {
  const at = new Date(ms);
  const digits = (value: number, count = 2): string => String(value).padStart(count, '0');
  const day = [digits(at.getFullYear(), 4), digits(at.getMonth() + 1), digits(at.getDate())].join('-');
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((value) => digits(value)).join(':');
  return `${day} ${time}.${digits(at.getMilliseconds(), 3)}`;
}

/** The longest type there is, so that lines align without knowing what comes. */
const typeWidth = 'device.wakeup.completed'.length;
const deviceWidth = 16;

/** Local time, type, device, and what tells most of the rest. */
export function formatEvent(event: WireEvent): string {
  const device = showable(event.device_id).padEnd(deviceWidth);
  const cells = [
    formatLocalTime(Date.parse(event.at)),
    event.type.padEnd(typeWidth),
    device,
    tellingPart(event),
  ];
  return cells.join('  ').trimEnd();
}

/** The reason, that it replaced, the milliseconds to wake: with what it was, in a few words. */
export function tellingPart({ type, epoch, data }: WireEvent): string {
  const words: string[] = [];
  const say = (key: string, before = ''): void => {
    const value = data[key];
    if (typeof value === 'string' || typeof value === 'number') words.push(before + showable(String(value)));
  };
  say('state');
  say('reason');
  if (data['replaced'] === true) words.push('replaced the session before');
  if (type === 'device.wakeup.completed') words.push(`online after ${String(data['woke_after_ms'])} ms`);
  say('custom_data');
  say('request_id', 'request ');
  if (type.startsWith('call.')) say('session', 'session ');
  else if (epoch !== null) words.push(`epoch ${epoch}`);
  say('node', 'on ');
  return words.join(', ');
}
