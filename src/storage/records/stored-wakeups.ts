/**
 * Rows of known wakeups, in the order of time: a commit of many writes few pages, and so do their outcomes and their removal. A
 * table of names finds them by request id and application. Nearly every request id names one wakeup, so that further ones have
 * longer keys, and only then is the latest stored, of all and of each device.
 */
import type { ApplicationId, DeviceId, RequestId, WakeupId } from '../../model/ids.ts';
import type { WakeCause } from '../../model/signal.ts';
import type { WakeupRecord, WakeupStatus, KnownWakeup } from '../../model/wakeup.ts';
import type { Table } from '../lmdb/environment.ts';

/** Times are wall milliseconds. Add fields at the end only. */
type WakeupRow = readonly [
  deviceId: string,
  acceptedAtMs: number | null,
  status: string,
  isAwaited: boolean,
  begunAtMs: number,
  completedAtMs: number | null,
  wokeAfterMs: number | null,
  alreadyOnline: boolean,
  cause: string | null,
  sleepEpoch: number,
  packet: string | null,
  repeatOf?: string,
];

/** `begunAtMs`: of the record, never changed. Add fields at the end only. */
export type NameRow = readonly [id: string, begunAtMs: number, deviceId: string];

export interface WakeupTables {
  /** Keyed by the start time, then by the wakeup's key. */
  readonly records: Table<WakeupRow>;
  /** Keyed by request id and application: the first wakeup. Further ones are keyed like records, without the time. */
  readonly names: Table<NameRow>;
  /** Keys of the records with an awaited outcome; only the keys count. */
  readonly awaited: Table<true>;
  /** Keyed by request id and application, and by device, too: id of the latest wakeup. Only of request ids that name several. */
  readonly latest: Table<string>;
}

export function encodeWakeup(record: WakeupRecord): WakeupRow {
  return [
    record.deviceId,
    record.acceptedAtMs,
    record.status,
    record.isAwaited,
    record.begunAtMs,
    record.completedAtMs,
    record.wokeAfterMs,
    record.alreadyOnline,
    record.cause,
    record.sleepEpoch,
    record.packet,
    ...(record.repeatOf === undefined ? ([] as const) : ([record.repeatOf] as const)),
  ];
}

function decodeWakeup(id: WakeupId, row: WakeupRow): WakeupRecord {
  return {
    id,
    deviceId: row[0] as DeviceId,
    acceptedAtMs: row[1],
    status: row[2] as WakeupStatus,
    isAwaited: row[3],
    begunAtMs: row[4],
    completedAtMs: row[5],
    wokeAfterMs: row[6],
    alreadyOnline: row[7],
    cause: row[8] as WakeCause | null,
    sleepEpoch: row[9],
    packet: row[10],
    ...(row[11] !== undefined && { repeatOf: row[11] as RequestId }),
  };
}

interface WakeupKeyParts {
  readonly appId: ApplicationId;
  readonly requestId: RequestId;
  readonly id: WakeupId;
}

/** Request ids and application ids contain no line feed. */
export function wakeupKey({ appId, requestId, id }: WakeupKeyParts): string {
  return `${requestId}\n${appId}\n${id}`;
}

export function parseWakeupKey(key: string): WakeupKeyParts {
  const [requestId, appId, id] = key.split('\n');
  return { appId: appId as ApplicationId, requestId: requestId as RequestId, id: id as WakeupId };
}

/** Common prefix of the names of a request id. */
function namesPrefix(requestId: RequestId): string {
  return `${requestId}\n`;
}

export function nameKey(requestId: RequestId, appId: ApplicationId): string {
  return `${requestId}\n${appId}`;
}

/** Sorts after every key with this prefix: no key continues with 0xff. */
function endOfPrefix(prefix: string): Buffer {
  return Buffer.concat([Buffer.from(prefix), Buffer.of(0xff)]);
}

export function deviceKey(appId: ApplicationId, requestId: RequestId, deviceId: DeviceId): string {
  return `${nameKey(requestId, appId)}\n${deviceId}`;
}

/** Milliseconds in 48 bits last until the year 10889. */
const timeBytes = 6;

export function timeKey(wallMs: number, key: string): Buffer {
  const bytes = Buffer.allocUnsafe(timeBytes + Buffer.byteLength(key));
  bytes.writeUIntBE(Math.max(0, Math.floor(wallMs)), 0, timeBytes);
  bytes.write(key, timeBytes);
  return bytes;
}

export function keyOfTime(bytes: Buffer): string {
  return bytes.toString('utf8', timeBytes);
}

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
