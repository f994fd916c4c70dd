/**
 * The registry file coming in: at start, on SIGHUP and uploaded by the command line. On a thread of its own, one
 * transaction, which ends with nothing when who asked for it hangs up or cancels it; afterwards everything that was kept of
 * the old registry is dropped.
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
  /** Called after every import, for those who keep something of the registry elsewhere. */
  readonly changed: () => void;
}

const importsRememberedMax = 64;

export class RegistryRefresh {
  readonly #deps: RefreshDeps;
  /** By the names that callers give their imports; also of those that are over, for a cancellation that comes too late. */
  readonly #switches = new LRUCache<string, CommitSwitch>({ max: importsRememberedMax });

  constructor(deps: RefreshDeps) {
    this.#deps = deps;
  }

  /** Never rejects: the outcome is in the result, and in the log. */
  async import(
    request: Omit<ImportRequest, 'allowShortSecrets'>,
    watch?: ImportWatch,
  ): Promise<ImportResult> {
    const { directory, allowShortSecrets, registry, signingKeys, log, changed } = this.#deps;
    const { file, replace, dryRun = false } = request;
    log.info({ file, replace, dry_run: dryRun }, 'registry import begins');
    const result = await importInWorker(directory, { ...request, allowShortSecrets }, watch);
    if (result.ok && !dryRun) {
      registry.purge();
      signingKeys.purgeAll();
      changed();
      await registry.inForce;
    }
    if (!result.ok)
      log.error({ file, reason: result.error.message }, 'registry not imported; nothing changed');
    else {
      const { sha256, counts, deleted } = encodeImportReport(result.value);
      const { skipped } = result.value;
      const told = dryRun ? 'registry not imported: a dry run' : 'registry imported';
      log.info({ file, skipped, sha256, counts, ...(deleted && { deleted }) }, told);
    }
    return result;
  }

  /** `POST /v1/registry/import`, whose body is the file, and the one that cancels it. */
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

  /** Lines of `{progress}`, as they come in, then one `{result}` or `{error}`. */
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

  /** An import may be cancelled before its file has come in whole, and so before it begins. */
  #switchOf(importId: string): CommitSwitch {
    const known = this.#switches.get(importId) ?? new CommitSwitch();
    this.#switches.set(importId, known);
    return known;
  }

  #cancel(commitSwitch: CommitSwitch): boolean {
    const cancelled = commitSwitch.cancel();
    const told = cancelled
      ? 'registry import cancelled by who asked for it'
      : 'too late to cancel a registry import';
    this.#deps.log.info({}, told);
    return cancelled;
  }
}

/** From whoever tells to whoever reads; a slow reader misses all but the latest. */
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

/** The spool file's own name means nothing to who sent it. */
function lastLine(result: ImportResult): AdminAnswer {
  if (!result.ok) return refuse(409, result.error.message.replace(result.error.file, 'the file'));
  return { result: encodeImportReport(result.value) };
}
