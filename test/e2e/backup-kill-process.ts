/**
 * A backup, a restore or a verification that halts at a given point and reports it, to be killed there. Arguments: the action, the
 * phase, the progress, the data directory and the file.
 */
import { createReadStream, writeSync } from 'node:fs';
import { restoreBackup, verifyBackup } from '../../src/storage/backup/backup-restore.ts';
import { writeBackupFile } from '../../src/storage/backup/backup-file.ts';
import { openBackupSource } from '../../src/cli/backup/backup-source.ts';

const [verb = '', phase = '', least = '', directory = '', file = ''] = process.argv.slice(2);

function stopAt(reached: string, done: number): void {
  if (reached !== phase || done < Number(least)) return;
  writeSync(1, 'stopped\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

const deps = {
  name: file,
  bytes: null,
  replaces: true,
  onProgress: (progress: { readonly phase: string; readonly rows?: number; readonly done?: number }) =>
    stopAt(progress.phase, progress.rows ?? progress.done ?? 0),
};
const acts: Readonly<Record<string, () => Promise<unknown>>> = {
  backup: async () => writeBackupFile(file, await openBackupSource(directory, 0), deps),
  restore: () => restoreBackup(createReadStream(file), directory, deps),
  verify: () => verifyBackup(createReadStream(file), file, deps),
};
await acts[verb]?.();
