/**
 * An import on a thread of its own, so that a server goes on answering while a million devices come in. Reads
 * see the registry as it was until the import is committed; afterwards the caller purges its caches.
 */
import { assert } from '../../lib/assert.ts';
import { runModuleWorker } from '../../lib/module-worker.ts';
import type { EnvironmentMode } from '../lmdb/environment.ts';
import { CommitSwitch } from './commit-switch.ts';
import type { ImportProgress, ImportRequest, ImportResult, ImportWatch } from './registry-import.ts';

/** To the worker, as its data. */
export interface ImportTask {
  readonly directory: string;
  /** The one in which the server has the store open. */
  readonly mode: EnvironmentMode;
  readonly request: ImportRequest;
  readonly commitSwitch: CommitSwitch['shared'];
}

/** From the worker. */
export type ImportMessage =
  | { readonly kind: 'progress'; readonly progress: ImportProgress }
  | { readonly kind: 'result'; readonly result: ImportResult };

/** Directories whose import is under way: a second one would wait for the first holding a thread. */
const importing = new Set<string>();

/** `mode` is the store's. Resolves when it is committed or nothing has changed; never rejects. One at a time for each store. */
export async function importInWorker(
  directory: string,
  request: ImportRequest,
  { onProgress = () => undefined, commitSwitch = new CommitSwitch() }: ImportWatch = {},
  mode: EnvironmentMode = 'write',
): Promise<ImportResult> {
  if (importing.has(directory)) return failed(request.file, 'is not imported: another import is under way');
  importing.add(directory);
  try {
    return await runWorker({ directory, mode, request, commitSwitch: commitSwitch.shared }, onProgress);
  } catch (error) {
    return failed(request.file, `is not imported: ${(error as Error).message}`);
  } finally {
    importing.delete(directory);
  }
}

/** Resolves once the thread is gone, and with it its hold on the store. */
async function runWorker(
  task: ImportTask,
  onProgress: (progress: ImportProgress) => void,
): Promise<ImportResult> {
  let result: ImportResult | undefined;
  await runModuleWorker('registry-import-worker', import.meta.url, task, (message: ImportMessage) => {
    if (message.kind === 'progress') onProgress(message.progress);
    else result = message.result;
  });
  assert(result !== undefined, 'the thread told its result before it ended');
  return result;
}

function failed(file: string, reason: string): ImportResult {
  const message = `${file} ${reason}`;
  return { ok: false, error: { file, where: null, kind: null, id: null, field: null, reason, message } };
}
