/**
 * Runs long registry changes on a thread, so that the server keeps answering during an import of a million devices or a search for
 * references to an entry. Reads see the old registry until the commit; afterwards the caller purges its caches.
 */
import { assert } from '../../lib/assert.ts';
import { runModuleWorker } from '../../lib/module-worker.ts';
import type { Result } from '../../lib/result.ts';
import { CommitSwitch } from './commit-switch.ts';
import type { MissingEntry, UsedEntry, UsedKind } from './entry-changes.ts';
import type { ImportProgress, ImportRequest, ImportResult, ImportWatch } from './registry-import.ts';

export interface RegistryTask {
  readonly directory: string;
  readonly change:
    | {
        readonly kind: 'import';
        readonly request: ImportRequest;
        readonly commitSwitch: CommitSwitch['shared'];
      }
    | { readonly kind: 'removal'; readonly of: UsedKind; readonly id: string };
}

export type RemovalResult = Result<null, MissingEntry | UsedEntry>;
export type TaskResult = ImportResult | RemovalResult;

export type RegistryMessage =
  | { readonly kind: 'progress'; readonly progress: ImportProgress }
  | { readonly kind: 'result'; readonly result: TaskResult };

/** Directories with an import under way: a second one would block a thread while it waits. */
const importing = new Set<string>();

/** Resolves after the commit, or when nothing has changed; never rejects. One at a time per store. */
export async function importInWorker(
  directory: string,
  request: ImportRequest,
  { onProgress, commitSwitch = new CommitSwitch() }: ImportWatch = {},
): Promise<ImportResult> {
  if (importing.has(directory)) return failed(request.file, 'is not imported: another import is under way');
  importing.add(directory);
  const change = { kind: 'import', request, commitSwitch: commitSwitch.shared } as const;
  try {
    return await runWorker<ImportResult>({ directory, change }, onProgress);
  } catch (error) {
    return failed(request.file, `is not imported: ${(error as Error).message}`);
  } finally {
    importing.delete(directory);
  }
}

export function removeInWorker(directory: string, of: UsedKind, id: string): Promise<RemovalResult> {
  return runWorker<RemovalResult>({ directory, change: { kind: 'removal', of, id } });
}

/** Resolves once the thread has ended and released the store. */
async function runWorker<Outcome extends TaskResult>(
  task: RegistryTask,
  onProgress: (progress: ImportProgress) => void = () => undefined,
): Promise<Outcome> {
  let result: TaskResult | undefined;
  await runModuleWorker('registry-worker', import.meta.url, task, (message: RegistryMessage) => {
    if (message.kind === 'progress') onProgress(message.progress);
    else result = message.result;
  });
  assert(result !== undefined, 'the thread sent its result before it ended');
  return result as Outcome;
}

function failed(file: string, reason: string): ImportResult {
  const message = `${file} ${reason}`;
  return { ok: false, error: { file, where: null, kind: null, id: null, field: null, reason, message } };
}
