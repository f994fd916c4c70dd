/**
 * Imports the registry file: at the start, on SIGHUP, and uploaded by the command line. An import is one transaction on its own thread;
 * it is aborted when its caller disconnects or cancels. Afterwards all caches of the registry are dropped.
 */
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Log } from '../../lib/log.ts';
import {
  changeRoute,
  refuse,
  type AdminAnswer,
  type AdminRoute,
  type Upload,
  type UploadRoute,
} from '../../gateways/ops/admin-route.ts';
import { encodeImportReport, importIdField, parseImportQuery } from '../../gateways/admin/import-query.ts';
import type { SigningKeyCache } from '../../protocol/tgv1/signature.ts';
import { importInWorker } from '../../storage/registry/registry-thread.ts';
import { CommitSwitch } from '../../storage/registry/commit-switch.ts';
import type {
  ImportProgress,
  ImportRequest,
  ImportResult,
  ImportWatch,
} from '../../storage/registry/registry-import.ts';
import type { RegistryStore } from '../../storage/registry/registry-store.ts';

export interface RefreshDeps {
  readonly directory: string;
  readonly allowShortSecrets: boolean;
  readonly registry: RegistryStore;
  readonly signingKeys: SigningKeyCache;
  readonly log: Log;
  /** Called after every import, to drop other caches of the registry. */
  readonly changed: () => void;
}

const importsRememberedMax = 64;

export class RegistryRefresh {
  readonly #deps: RefreshDeps;
  /** Switches by import id, including finished imports, for cancellations that come too late. */
  readonly #switches = new LRUCache<string, CommitSwitch>({ max: importsRememberedMax });

  constructor(deps: RefreshDeps) {
    this.#deps = deps;
  }

  /** Never rejects: failures are in the result and in the log. */
  async import(
    request: Omit<ImportRequest, 'allowShortSecrets'>,
    watch?: ImportWatch,
  ): Promise<ImportResult> {
    const { directory, allowShortSecrets, registry, signingKeys, log, changed } = this.#deps;
    const { file, replace, dryRun = false } = request;
    log.info({ file, replace, dry_run: dryRun }, 'registry import: started');
    const result = await importInWorker(directory, { ...request, allowShortSecrets }, watch);
    if (result.ok && !dryRun) {
      registry.purge();
      signingKeys.purgeAll();
      changed();
      await registry.inForce;
    }
    if (!result.ok)
      log.error({ file, reason: result.error.message }, 'registry import: failed; nothing changed');
    else {
      const { sha256, counts, deleted } = encodeImportReport(result.value);
      const { skipped } = result.value;
      const message = dryRun ? 'registry import: checked: dry run; nothing changed' : 'registry import: done';
      log.info({ file, skipped, sha256, counts, ...(deleted && { deleted }) }, message);
    }
    return result;
  }

  /** `POST /v1/registry/import`, whose body is the file, and its cancellation. */
  routes(): (AdminRoute | UploadRoute)[] {
    return [
      {
        method: 'POST',
        path: '/v1/registry/import',
        audit: {
          action: 'registry.import',
          answered: { counts: 'result.counts', sha256: 'result.sha256', deleted: 'result.deleted' },
        },
        upload: ({ query }, file, gone) => this.#upload(query, file, gone),
      },
      changeRoute(
        '/v1/registry/cancel-import',
        z.strictObject({ import: importIdField }),
        async ({ import: importId }) => ({ cancelled: this.#cancel(this.#switchOf(importId)) }),
      ),
    ];
  }

  /** Answers with lines of `{progress}`, then one `{result}` or `{error}`. */
  #upload(query: URLSearchParams, file: string, gone: AbortSignal): Upload {
    const asked = parseImportQuery(query);
    if (!asked.ok) return { lines: new Progress().end(), ended: Promise.resolve(refuse(400, asked.error)) };
    const { importId, ...terms } = asked.value;
    const commitSwitch = importId === null ? new CommitSwitch() : this.#switchOf(importId);
    const cancel = (): void => void this.#cancel(commitSwitch);
    gone.addEventListener('abort', cancel);
    if (gone.aborted) cancel();
    const progress = new Progress();
    const onProgress = (reached: ImportProgress): void => progress.notify({ progress: reached });
    const importing = this.import({ file, ...terms, skipUnchanged: false }, { onProgress, commitSwitch });
    const ended = importing.then((result) => {
      gone.removeEventListener('abort', cancel);
      progress.end();
      return lastLine(result);
    });
    return { lines: progress, ended };
  }

  /** An import may be cancelled before its file has arrived completely, and so before it begins. */
  #switchOf(importId: string): CommitSwitch {
    const known = this.#switches.get(importId) ?? new CommitSwitch();
    this.#switches.set(importId, known);
    return known;
  }

  #cancel(commitSwitch: CommitSwitch): boolean {
    const cancelled = commitSwitch.cancel();
    const message = cancelled
      ? 'registry import: cancelled by its caller'
      : 'registry import: too late to cancel';
    this.#deps.log.info({}, message);
    return cancelled;
  }
}

/** Passes progress to a reader; a slow reader receives only the latest. */
class Progress {
  #latest: object | null = null;
  #isOver = false;
  #wake = (): void => undefined;

  notify(line: object): void {
    this.#latest = line;
    this.#wake();
  }

  end(): this {
    this.#isOver = true;
    this.#wake();
    return this;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<object> {
    for (;;) {
      const line = this.#latest;
      this.#latest = null;
      if (line !== null) yield line;
      else if (this.#isOver) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

/** Removes the name of the spool file, which is meaningless to the caller. */
function lastLine(result: ImportResult): AdminAnswer {
  if (!result.ok) return refuse(409, result.error.message.replace(result.error.file, 'the file'));
  return { result: encodeImportReport(result.value) };
}
