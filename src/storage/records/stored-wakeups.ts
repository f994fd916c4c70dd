/** Reads committed wakeups. */
import type { ApplicationId, DeviceId, RequestId, WakeupId } from '../../model/ids.ts';
import type { KnownWakeup, WakeupRecord } from '../../model/wakeup.ts';
import {
  decodeWakeup,
  deviceKey,
  endOfPrefix,
  keyPrefix,
  parseWakeupKey,
  wakeupKey,
  type WakeupRow,
  type WakeupTables,
} from './wakeup-rows.ts';

export function findStoredWakeup(
  { records }: Pick<WakeupTables, 'records'>,
  key: string,
): WakeupRecord | null {
  const row = records.get(Buffer.from(key));
  return row === undefined ? null : decodeWakeup(parseWakeupKey(key).id, row);
}

/** Latest wakeup of an application with this request id; `deviceId` null: of any device. */
export function findLatestId(
  { records, latest }: Pick<WakeupTables, 'records' | 'latest'>,
  appId: ApplicationId,
  requestId: RequestId,
  deviceId: DeviceId | null,
): WakeupId | null {
  if (deviceId !== null)
    return (latest.get(Buffer.from(deviceKey(appId, requestId, deviceId))) ?? null) as WakeupId | null;
  const prefix = keyPrefix(requestId, appId);
  for (const key of records.getKeys({
    start: endOfPrefix(prefix),
    end: Buffer.from(prefix),
    reverse: true,
    limit: 1,
  }))
    return parseWakeupKey(key.toString()).id;
  return null;
}

const listedScanMax = 10_000;

/**
 * Wakeups with this request id of all applications, latest first, at most `limit`. A repeat carries the record of the wakeup that it
 * repeats.
 */
export function* listStoredWakeups(
  { records }: Pick<WakeupTables, 'records'>,
  requestId: RequestId,
  deviceId: DeviceId | null,
  limit: number,
): Generator<KnownWakeup, void, undefined> {
  const prefix = keyPrefix(requestId);
  const range = { start: endOfPrefix(prefix), end: Buffer.from(prefix), reverse: true, limit: listedScanMax };
  let found = 0;
  for (const { key, value } of records.getRange(range)) {
    if (deviceId !== null && value[0] !== deviceId) continue;
    yield wakeupOf({ records }, key, value);
    found += 1;
    if (found === limit) return;
  }
}

function wakeupOf(tables: Pick<WakeupTables, 'records'>, bytes: Buffer, row: WakeupRow): KnownWakeup {
  const { appId, requestId, id } = parseWakeupKey(bytes.toString());
  const known = { appId, requestId, record: decodeWakeup(id, row) };
  return followAlias(known, (key) => findStoredWakeup(tables, key));
}

/** Gives a repeat the record of the wakeup that it repeats, if `find` returns one. */
export function followAlias(known: KnownWakeup, find: (key: string) => WakeupRecord | null): KnownWakeup {
  const { appId, record } = known;
  const { id, repeatOf } = record;
  if (repeatOf === undefined) return known;
  const first = find(wakeupKey({ appId, requestId: repeatOf, id }));
  return first === null ? known : { ...known, record: { ...first, repeatOf } };
}
