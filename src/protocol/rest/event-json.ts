/** An event as backends get it, read or pushed: the same text either way. Source: events.md, The log. */
import type { LoggedEvent } from '../../model/events.ts';
import { formatTimestamp } from './timestamp.ts';

/** As long as the event itself is held; those who read the same event read the same text. */
const texts = new WeakMap<LoggedEvent, string>();

/** JSON text, made at most once for each event object. */
export function encodeEvent(event: LoggedEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const { id, type, atMs, deviceId, seq, epoch, data } = event;
  const text =
    `{"id":"${id}","type":"${type}","at":"${formatTimestamp(atMs)}","device_id":${JSON.stringify(deviceId)},` +
    `"seq":${seq},"epoch":${epoch},"data":${JSON.stringify(data)}}`;
  texts.set(event, text);
  return text;
}
