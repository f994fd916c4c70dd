/** Which events an operator wants to see: of one device, of some types, or all. */
import { eventTypes, type EventType, type LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';

export interface EventFilter {
  /** Null: of every device. */
  readonly deviceId: DeviceId | null;
  /** Null: of every type. */
  readonly types: ReadonlySet<EventType> | null;
}

export function isWanted({ deviceId, types }: EventFilter, event: LoggedEvent): boolean {
  return (deviceId === null || event.deviceId === deviceId) && (types === null || types.has(event.type));
}

/** A type, or the beginning of some and `*`; null: there is no such type. */
export function parseTypePattern(text: string): readonly EventType[] | null {
  const types = text.endsWith('*')
    ? eventTypes.filter((type) => type.startsWith(text.slice(0, -1)))
    : eventTypes.filter((type) => type === text);
  return types.length === 0 ? null : types;
}
