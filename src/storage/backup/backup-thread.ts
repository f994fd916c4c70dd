/** Reads a backup on a thread, so that the server keeps serving. */
import { on } from 'node:events';
import { Readable } from 'node:stream';
import { startModuleWorker } from '../../lib/module-worker.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';

export interface BackupTask {
  readonly directory: string;
  /** Wall milliseconds. */
  readonly nowMs: number;
}

export type BackupAsk = 'next' | 'stop';

/** Maximum size of the backup in bytes, then its pieces, then null. */
export type BackupAnswer = number | Uint8Array | null;

/** Destroying `pieces` ends the backup. Rejects with a StoreOpenError. */
export async function backupInWorker(
  task: BackupTask,
): Promise<{ readonly bytesMax: number; readonly pieces: Readable }> {
  const worker = startModuleWorker('backup-worker', import.meta.url, task);
  const answers = on(worker, 'message')[Symbol.asyncIterator]() as AsyncIterator<[BackupAnswer]>;
  const next = async (): Promise<BackupAnswer> => {
    worker.postMessage('next' satisfies BackupAsk);
    try {
      return (await answers.next()).value[0];
    } catch (error) {
      throw new StoreOpenError((error as Error).message);
    }
  };
  const bytesMax = Number(await next());
  const pieces = new Readable({
    read() {
      next().then(
        (piece) => this.push(piece),
        (error: unknown) => this.destroy(error as Error),
      );
    },
  });
  pieces.on('close', () => worker.postMessage('stop' satisfies BackupAsk));
  return { bytesMax, pieces };
}
