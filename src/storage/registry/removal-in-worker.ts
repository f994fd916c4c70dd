/** The removal of an application or a product on a thread of its own: looking for what refers to it may take seconds. */
import { runModuleWorker } from '../../lib/module-worker.ts';
import { assert } from '../../lib/assert.ts';
import type { Result } from '../../lib/result.ts';
import type { EnvironmentMode } from '../lmdb/environment.ts';
import type { MissingEntry, UsedEntry, UsedKind } from './entry-changes.ts';

/** To the worker, as its data. */
export interface RemovalTask {
  readonly directory: string;
  readonly mode: EnvironmentMode;
  readonly kind: UsedKind;
  readonly id: string;
}

/** From the worker, once. */
export type RemovalResult = Result<null, MissingEntry | UsedEntry>;

/** Rejects when the store refuses. */
export async function removeInWorker(task: RemovalTask): Promise<RemovalResult> {
  const told: RemovalResult[] = [];
  await runModuleWorker('registry-removal-worker', import.meta.url, task, (result: RemovalResult) => {
    told.push(result);
  });
  const [result] = told;
  assert(result !== undefined, 'the thread told its result before it ended');
  return result;
}
