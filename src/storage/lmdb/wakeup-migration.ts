/**
 * Format 2 of a store: each wakeup has an id of its own, so that several may bear one request id. Format 1 had one wakeup of an
 * application and request id, in tables of other names. Source: docs/adr/0008 and 0023.
 */
import { earlierWakeupId, type ApplicationId, type DeviceId, type RequestId } from '../../model/ids.ts';
import {
  deviceKey,
  timeKey,
  wakeupKey,
  wakeupTableNames,
  type WakeupRow,
  type WakeupTables,
} from '../records/wakeup-rows.ts';
import type { MigratedFile } from './store-format.ts';

/** As format 1 had it. Rows of the first release end with the hash and mean a settled acceptance. */
type EarlierRow = readonly [
  deviceId: string,
  acceptedAtMs: number | null,
  bodySha256: Uint8Array,
  status?: string,
  isAwaited?: boolean,
  begunAtMs?: number,
  completedAtMs?: number | null,
  wokeAfterMs?: number | null,
  alreadyOnline?: boolean,
  cause?: string | null,
  sleepEpoch?: number,
  isCallersId?: boolean,
  watcher?: string | null,
];

const earlierNames = ['accepted-wakeups', 'accepted-times', 'awaited-wakeups'] as const;

/** Rows that are read before they are written. */
const sliceRows = 1000;

export function giveWakeupsIds(file: MigratedFile): void {
  const earlier = file.table<EarlierRow>(earlierNames[0]);
  const tables: WakeupTables = {
    records: file.table(wakeupTableNames.records),
    times: file.table(wakeupTableNames.times),
    awaited: file.table(wakeupTableNames.awaited),
    latest: file.table(wakeupTableNames.latest),
  };
  for (let start = Buffer.alloc(1); ;) {
    const slice = Array.from(earlier.getRange({ start, limit: sliceRows }));
    for (const { key, value } of slice) put(tables, key.toString(), value);
    const last = slice.at(-1)?.key;
    if (last === undefined) break;
    start = Buffer.concat([last, Buffer.alloc(1)]);
  }
  for (const name of earlierNames) file.table(name).clearSync();
}

/** `name`: the application id and the request id, with the first line feed between them. */
function put(tables: WakeupTables, name: string, row: EarlierRow): void {
  const end = name.indexOf('\n');
  const appId = name.slice(0, end) as ApplicationId;
  const requestId = name.slice(end + 1) as RequestId;
  const moved = laterRow(row);
  const [deviceId, acceptedAtMs, , isAwaited, begunAtMs] = moved;
  const id = earlierWakeupId(appId, requestId, acceptedAtMs ?? begunAtMs);
  const key = wakeupKey({ appId, requestId, id });
  const time = timeKey(begunAtMs, key);
  void tables.records.put(Buffer.from(key), moved);
  void tables.times.put(time, true);
  if (isAwaited) void tables.awaited.put(time, true);
  void tables.latest.put(Buffer.from(deviceKey(appId, requestId, deviceId as DeviceId)), id);
}

function laterRow(row: EarlierRow): WakeupRow {
  return [
    row[0],
    row[1],
    row[3] ?? 'accepted',
    row[4] ?? false,
    row[5] ?? row[1] ?? 0,
    row[6] ?? null,
    row[7] ?? null,
    row[8] ?? false,
    row[9] ?? null,
    row[10] ?? 0,
    null,
    row[12] ?? null,
  ];
}
