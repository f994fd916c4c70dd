/**
 * Events committed with the records they go with, a batch of the journal a round, among as many devices as there are
 * rounds recorded; against LMDB alone, which puts the same keys and the same bytes in the same batches and does
 * nothing else.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open, type Database } from 'lmdb';
import { Packr } from 'msgpackr';
import type { Bench } from 'tinybench';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { ConnectionRecord } from '../../src/model/connectivity.ts';
import type { ProductId, SessionId } from '../../src/model/ids.ts';
import { onlyMember } from '../../src/storage/records/connection-rows.ts';
import { SharedRecords } from '../../src/storage/journal/shared-records.ts';
import { ConnectionRecordStore } from '../../src/storage/records/connection-record-store.ts';
import type { Table } from '../../src/storage/lmdb/environment.ts';
import { Journal } from '../../src/storage/journal/journal.ts';
import { Committer } from '../../src/storage/journal/committer.ts';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import type { StateTables } from '../../src/storage/lmdb/state-tables.ts';
import { commitWritesMax } from '../../src/storage/lmdb/store-limits.ts';
import { deviceIdAt } from '../support/registry-file.ts';

/** A batch of the journal, so that both commit batches of one size. */
const eventsPerRound = commitWritesMax;
/** Rounds of different devices, and as many whose bytes LMDB alone writes, over and over under new sequences. */
const rounds = 64;

const ours = `events: ${eventsPerRound} committed with their records`;
const alone = 'events: LMDB alone, the same bytes';
export const baselines: Readonly<Record<string, string>> = { [ours]: alone };

const session = '0190b1c2-7d3e-7000-8000-0123456789ab' as SessionId;

/** Adds the cases to `bench`; the returned function takes the stores away again. */
export async function register(bench: Bench): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-'));
  const store = openStore(join(directory, 'data'));
  const round = journalRound(store.state);
  const [recording, stop] = recordPuts(store.state);
  for (let i = 0; i < rounds; i++) {
    recording.push([]);
    await round();
  }
  stop();
  const peer = openPeer(join(directory, 'alone.mdb'));
  bench.add(ours, round);
  let next = 0;
  let current: readonly Put[] = [];
  const beforeEach = (): void => {
    current = recording[next % rounds] ?? [];
    if (next >= rounds) for (const put of current) moveSequence(put, rounds * eventsPerRound);
    next += 1;
  };
  bench.add(alone, () => peer.write(current), { beforeEach });
  return async () => {
    await Promise.all([store.close(), peer.close()]);
    rmSync(directory, { recursive: true });
  };
}

/** One round: sessions of random devices open or close, and each change is written with its event. */
function journalRound(state: StateTables): () => Promise<void> {
  const journal = new Journal({
    clock: new SystemClock(),
    committer: new Committer(
      state.environment,
      new SharedRecords(state, { member: onlyMember, node: 'node-1', grew: () => undefined }),
    ),
    productOf: () => 'doorbell' as ProductId,
    backlogMax: 1_000_000,
  });
  const records = new ConnectionRecordStore(state, 'sleep', journal);
  let epoch = 0;
  return async () => {
    epoch += 1;
    for (let i = 0; i < eventsPerRound; i++) {
      const deviceId = deviceIdAt((epoch % rounds) * eventsPerRound + i);
      records.write(deviceId, recordAt(epoch), {
        kind: 'login',
        connection: 'sleep',
        session,
        epoch,
        atMs: 1_800_000_000_000 + i,
        node: 'node-1',
        replaced: false,
        media: null,
      });
    }
    await journal.allCommitted();
  };
}

function recordAt(epoch: number): ConnectionRecord {
  return {
    epoch,
    lastLoginAt: 1_800_000_000,
    lastHeartbeatAt: 1_800_000_060,
    lastOfflineAt: null,
    openSession: session,
  };
}

interface Put {
  readonly table: string;
  readonly key: Buffer;
  readonly value: Buffer;
}

/** Writes down what is put from now on, round by round, until it is stopped. */
function recordPuts(state: StateTables): [Put[][], () => void] {
  const puts: Put[][] = [];
  const tables: Record<string, Table<unknown> | undefined> = {
    records: state.connections.sleep.records,
    open: state.connections.sleep.open,
    events: state.events.events,
    seqs: state.events.seqs,
  };
  const packr = new Packr({ useRecords: false });
  const originals = Object.entries(tables).map(([name, table]) => {
    if (table === undefined) throw new Error(`no table ${name}`);
    const put = table.put.bind(table);
    const recording = (key: Buffer, value: unknown): Promise<boolean> => {
      puts.at(-1)?.push({ table: name, key: Buffer.from(key), value: Buffer.from(packr.encode(value)) });
      return put(key, value);
    };
    return Object.assign(table, { put: recording });
  });
  return [puts, () => originals.forEach((table) => Reflect.deleteProperty(table, 'put'))];
}

function moveSequence({ table, key }: Put, by: number): void {
  if (table === 'events') key.writeBigUInt64BE(key.readBigUInt64BE() + BigInt(by));
}

function openPeer(path: string): { write(puts: readonly Put[]): Promise<void>; close(): Promise<void> } {
  const root = open({ path, keyEncoding: 'binary', maxDbs: 8, eventTurnBatching: false });
  const openTable = (name: string): Database<Buffer, Buffer> =>
    root.openDB<Buffer, Buffer>({ name, keyEncoding: 'binary', encoding: 'binary' });
  const tables: Record<string, Database<Buffer, Buffer>> = {};
  for (const name of ['records', 'open', 'events', 'seqs']) tables[name] = openTable(name);
  return {
    async write(puts) {
      await root.batch(() => {
        for (const { table, key, value } of puts) void tables[table]?.put(key, value);
      });
    },
    close: () => root.close(),
  };
}
