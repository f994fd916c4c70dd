/** Reads committed wakeups. */
import type { ApplicationId, DeviceId, RequestId, WakeupId } from '../../model/ids.ts';
import type { KnownWakeup, WakeupRecord } from '../../model/wakeup.ts';
import {
  decodeWakeup,
  deviceKey,
  endOfPrefix,
  keyPrefix,
  parseWakeupKey,
  timeKey,
  wakeupKey,
  type WakeupTables,
} from './wakeup-rows.ts';

type Named = Pick<WakeupTables, 'records' | 'names'>;

/** `begunAtMs`: if the caller has read it already. */
export function findStoredWakeup(
  { records, names }: Named,
  key: string,
  begunAtMs = names.get(Buffer.from(key))?.[0],
): WakeupRecord | null {
  const row = begunAtMs === undefined ? undefined : records.get(timeKey(begunAtMs, key));
  return row === undefined ? null : decodeWakeup(parseWakeupKey(key).id, row);
}

interface NamedWakeup {
  readonly id: WakeupId;
  readonly deviceId: DeviceId;
}

/** Latest wakeup of an application with this request id; null: none. */
export function findLatest(
  { names }: Pick<WakeupTables, 'names'>,
  appId: ApplicationId,
  requestId: RequestId,
): NamedWakeup | null {
  const prefix = keyPrefix(requestId, appId);
  const range = { start: endOfPrefix(prefix), end: Buffer.from(prefix), reverse: true, limit: 1 };
  for (const { key, value } of names.getRange(range))
    return { id: parseWakeupKey(key.toString()).id, deviceId: value[1] as DeviceId };
  return null;
}

export function findLatestOfDevice(
  tables: Pick<WakeupTables, 'names' | 'latest'>,
  appId: ApplicationId,
  requestId: RequestId,
  deviceId: DeviceId,
): WakeupId | null {
  const id = tables.latest.get(Buffer.from(deviceKey(appId, requestId, deviceId)));
  if (id !== undefined) return id as WakeupId;
  const only = findLatest(tables, appId, requestId);
  return only?.deviceId === deviceId ? only.id : null;
}

const listedScanMax = 10_000;

/**
 * Wakeups with this request id of all applications, latest first, at most `limit`. A repeat carries the record of the wakeup that it
 * repeats.
 */
export function* listStoredWakeups(
  tables: Named,
  requestId: RequestId,
  deviceId: DeviceId | null,
  limit: number,
): Generator<KnownWakeup, void, undefined> {
  const prefix = keyPrefix(requestId);
  const range = { start: endOfPrefix(prefix), end: Buffer.from(prefix), reverse: true, limit: listedScanMax };
  let found = 0;
  for (const { key: bytes, value } of tables.names.getRange(range)) {
    if (deviceId !== null && value[1] !== deviceId) continue;
    const key = bytes.toString();
    const record = findStoredWakeup(tables, key, value[0]);
    if (record === null) continue;
    const { appId, requestId: ownRequestId } = parseWakeupKey(key);
    const known = { appId, requestId: ownRequestId, record };
    yield followAlias(known, (first) => findStoredWakeup(tables, first));
    found += 1;
    if (found === limit) return;
  }
}

/** Gives a repeat the record of the wakeup that it repeats, if `find` returns one. */
export function followAlias(known: KnownWakeup, find: (key: string) => WakeupRecord | null): KnownWakeup {
  const { appId, record } = known;
  const { id, repeatOf } = record;
  if (repeatOf === undefined) return known;
  const first = find(wakeupKey({ appId, requestId: repeatOf, id }));
  return first === null ? known : { ...known, record: { ...first, repeatOf } };
}
