/** Figure: what a backup costs the more devices a store has: to take beside a running server, to verify, to restore. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { SessionId } from '../../src/model/ids.ts';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { ConnectionRecordStore } from '../../src/storage/records/connection-record-store.ts';
import { importInWorker } from '../../src/storage/registry/import-in-worker.ts';
import { loginOf } from '../../test/support/connection-changes.ts';
import { openJournal } from '../../test/support/test-journal.ts';
import { bytesIn, deviceIdAt, makeRegistryFile } from '../support/registry-file.ts';
import { outsideSettings } from './child.ts';
import type { Figure } from './figure.ts';
import type { Plan } from './plan.ts';
import { Samples } from './samples.ts';
import { startReveille } from './servers.ts';
import { Trouble } from './trouble.ts';

const mebibyte = 1024 * 1024;
/** Logins between two waits for the journal. */
const loginsSlice = 5000;

type Metrics = Record<string, number>;

export async function measureBackup(plan: Plan): Promise<Figure> {
  const samples = new Samples();
  const trouble = new Trouble();
  for (let run = 0; run < plan.runs; run += 1)
    for (const devices of plan.backup.levels)
      samples.add(`${devices.toLocaleString('en-US')} devices`, await measure(devices, trouble));
  return describe(samples, trouble);
}

async function measure(devices: number, trouble: Trouble): Promise<Metrics> {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-bench-backup-'));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const state = join(directory, 'state');
    await makeStore(state, join(directory, 'registry.ndjson'), devices, trouble);
    return { devices, ...(await measureCommands(directory, state, devices, trouble)) };
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/** Every device has been there once: it has a record and an event. */
async function makeStore(state: string, file: string, devices: number, trouble: Trouble): Promise<void> {
  makeRegistryFile(file, devices);
  const store = openStore(state);
  const imported = await importInWorker(store.directory, { file, replace: false, skipUnchanged: true });
  if (!imported.ok) trouble.add(imported.error.message);
  const { journal } = openJournal(store, { clock: new SystemClock() });
  const records = new ConnectionRecordStore(store.state, 'sleep', journal);
  for (let number = 0; number < devices; number += 1) {
    const session = `session-${number}` as SessionId;
    const record = { epoch: 1, lastLoginAt: number, lastHeartbeatAt: number, lastOfflineAt: null };
    records.write(deviceIdAt(number), { ...record, openSession: session }, loginOf({ session }));
    if (number % loginsSlice === 0) await journal.allCommitted();
  }
  await journal.allCommitted();
  await store.close();
}

async function measureCommands(
  directory: string,
  state: string,
  devices: number,
  trouble: Trouble,
): Promise<Metrics> {
  const [file, restored] = [join(directory, 'store.backup'), join(directory, 'restored')];
  const server = await startReveille({ devices: 0, env: { REVEILLE_DATA_DIR: state } });
  let taken: Answer;
  try {
    taken = await run(['backup', file], state);
  } finally {
    await server.stop();
  }
  const verified = await run(['verify', file], state);
  const made = await run(['restore', file], restored);
  const count = (taken.tables ?? []).find(({ name }) => name === 'devices')?.rows;
  if (count !== devices) trouble.add(`a backup of ${devices} devices has ${count}`);
  return {
    backupSeconds: taken.seconds,
    verifySeconds: verified.seconds,
    restoreSeconds: made.seconds,
    megabytes: (taken.bytes ?? 0) / mebibyte,
    bytesOfDevice: (taken.bytes ?? 0) / devices,
    storeMegabytes: bytesIn(state) / mebibyte,
    restoredMegabytes: bytesIn(restored) / mebibyte,
  };
}

interface Answer {
  readonly seconds: number;
  readonly bytes?: number;
  readonly tables?: readonly { readonly name: string; readonly rows: number }[];
}

/** What the command answers, which has the time from its first look at the store or file. */
async function run(command: readonly string[], dataDirectory: string): Promise<Answer> {
  const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const parameters = ['--import', 'tsx', program, '--json', '--data-dir', dataDirectory, ...command];
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { env: outsideSettings() });
  return JSON.parse(stdout) as Answer;
}

function describe(samples: Samples, trouble: Trouble): Figure {
  return {
    name: 'backup',
    title: 'A backup, the more devices a store has',
    notes: [
      'Every device is in the registry and has logged in once: a record, an open session and an event.',
      'Backup: taken by the command beside a running server, on the disk when it is done. Verify: checksum, unpacking, and every entry ' +
        'of the store in it. Restore: into a new directory, on the disk when it is done. Without the start of the command.',
      'Store: the files of the data directory, those of locks too; restored: the same behind the restore.',
    ],
    columns: [
      { metric: 'backupSeconds', title: 'backup s', digits: 2 },
      { metric: 'megabytes', title: 'backup MiB', digits: 1 },
      { metric: 'bytesOfDevice', title: 'bytes/device', digits: 0 },
      { metric: 'verifySeconds', title: 'verify s', digits: 2 },
      { metric: 'restoreSeconds', title: 'restore s', digits: 2 },
      { metric: 'storeMegabytes', title: 'store MiB', digits: 1 },
      { metric: 'restoredMegabytes', title: 'restored MiB', digits: 1 },
    ],
    samples,
    targets: [],
    trouble: trouble.list,
  };
}
