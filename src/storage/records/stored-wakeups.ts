/** Reads committed wakeups. */
import type { ApplicationId, DeviceId, RequestId, WakeupId } from '../../model/ids.ts';
import type { KnownWakeup, WakeupRecord } from '../../model/wakeup.ts';
import {
  decodeWakeup,
  deviceKey,
  endOfPrefix,
  nameKey,
  namesPrefix,
  parseWakeupKey,
  timeKey,
  wakeupKey,
  type NameRow,
  type WakeupTables,
} from './wakeup-rows.ts';

/** The row of a wakeup's name, and its key; null: no such wakeup. */
export function findName(
  { names }: Pick<WakeupTables, 'names'>,
  key: string,
): { readonly name: Buffer; readonly row: NameRow } | null {
  const { appId, requestId, id } = parseWakeupKey(key);
  const first = Buffer.from(nameKey(requestId, appId));
  const row = names.get(first);
  if (row?.[0] === id) return { name: first, row };
  const further = Buffer.from(key);
  const other = names.get(further);
  return other === undefined ? null : { name: further, row: other };
}

export function findStoredWakeup(
  tables: Pick<WakeupTables, 'records' | 'names'>,
  key: string,
): WakeupRecord | null {
  const found = findName(tables, key);
  return found === null ? null : readRecord(tables, key, found.row);
}

function readRecord(
  { records }: Pick<WakeupTables, 'records'>,
  key: string,
  [id, begunAtMs]: NameRow,
): WakeupRecord | null {
  const row = records.get(timeKey(begunAtMs, key));
  return row === undefined ? null : decodeWakeup(id as WakeupId, row);
}

/** Latest wakeup of an application with this request id; `deviceId` null: of any device. */
export function findLatestId(
  { names, latest }: Pick<WakeupTables, 'names' | 'latest'>,
  appId: ApplicationId,
  requestId: RequestId,
  deviceId: DeviceId | null,
): WakeupId | null {
  const name = nameKey(requestId, appId);
  const id = latest.get(Buffer.from(deviceId === null ? name : deviceKey(appId, requestId, deviceId)));
  if (id !== undefined) return id as WakeupId;
  const only = names.get(Buffer.from(name));
  return only === undefined || (deviceId !== null && only[2] !== deviceId) ? null : (only[0] as WakeupId);
}

const listedScanMax = 10_000;

/**
 * Wakeups with this request id of all applications, latest first, at most `limit`. A repeat carries the record of the wakeup that it
 * repeats.
 */
export function* listStoredWakeups(
  tables: Pick<WakeupTables, 'records' | 'names'>,
  requestId: RequestId,
  deviceId: DeviceId | null,
  limit: number,
): Generator<KnownWakeup, void, undefined> {
  const prefix = namesPrefix(requestId);
  const range = { start: endOfPrefix(prefix), end: Buffer.from(prefix), reverse: true, limit: listedScanMax };
  let found = 0;
  for (const { key: name, value: row } of tables.names.getRange(range)) {
    if (deviceId !== null && row[2] !== deviceId) continue;
    const { appId } = parseWakeupKey(name.toString());
    const record = readRecord(tables, wakeupKey({ appId, requestId, id: row[0] as WakeupId }), row);
    if (record === null) continue;
    const known = { appId, requestId, record };
    yield followAlias(known, (key) => findStoredWakeup(tables, key));
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
