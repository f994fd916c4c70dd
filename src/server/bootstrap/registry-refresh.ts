/**
 * The registry file coming in: at start, on SIGHUP and uploaded by the command line. On a thread of its own, one
 * transaction; afterwards everything that was kept of the old registry is dropped.
 */
import type { Log } from '../../core/ports/log.ts';
import type { AdminReply, Upload, UploadRoute } from '../../gateways/ops/admin-route.ts';
import type { SigningKeyCache } from '../../protocol/tgv1/signature.ts';
import type { EnvironmentMode } from '../../storage/lmdb/environment.ts';
import { importInWorker } from '../../storage/registry/import-in-worker.ts';
import type { ImportRequest, ImportResult } from '../../storage/registry/registry-import.ts';
import type { RegistryStore } from '../../storage/registry/registry-store.ts';

export interface RefreshDeps {
  readonly directory: string;
  /** In which this process has the store open. */
  readonly mode: EnvironmentMode;
  readonly allowShortSecrets: boolean;
  readonly registry: RegistryStore;
  readonly signingKeys: SigningKeyCache;
  readonly log: Log;
  /** Called after every import, for those who keep something of the registry elsewhere. */
  readonly changed: () => void;
}

export class RegistryRefresh {
  readonly #deps: RefreshDeps;

  constructor(deps: RefreshDeps) {
    this.#deps = deps;
  }

  /** Never rejects: the outcome is in the result, and in the log. */
  async import(
    request: Omit<ImportRequest, 'allowShortSecrets'>,
    onProgress?: (entries: number) => void,
  ): Promise<ImportResult> {
    const { directory, mode, allowShortSecrets, registry, signingKeys, log, changed } = this.#deps;
    const result = await importInWorker(directory, { ...request, allowShortSecrets }, onProgress, mode);
    registry.purge();
    signingKeys.purgeAll();
    changed();
    if (result.ok) log.info({ ...result.value }, 'registry imported');
    else
      log.error(
        { file: request.file, reason: result.error.message },
        'registry not imported; nothing changed',
      );
    return result;
  }

  /** `POST /v1/registry/import`: the body is the file. */
  uploadRoute(): UploadRoute {
    return {
      method: 'POST',
      path: '/v1/registry/import',
      audit: {
        action: 'registry.import',
        asked: ['replace'],
        answered: { counts: 'result.counts', sha256: 'result.sha256' },
      },
      upload: ({ query }, file) => this.#upload(file, query.get('replace') === 'true'),
    };
  }

  /** Lines of `{progress}`, as they come in, then one `{result}` or `{error}`. */
  #upload(file: string, replace: boolean): Upload {
    const progress = new Progress();
    const importing = this.import({ file, replace, skipUnchanged: false }, (entries) =>
      progress.notify({ progress: entries }),
    );
    const ended = importing.then((result) => {
      progress.end();
      return lastLine(result);
    });
    return { lines: progress, ended };
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

  end(): void {
    this.#isOver = true;
    this.#wake();
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
function lastLine(result: ImportResult): AdminReply {
  if (!result.ok)
    return { status: 409, body: { error: result.error.message.replace(result.error.file, 'the file') } };
  const { counts, sha256 } = result.value;
  return { status: 200, body: { result: { counts, sha256 } } };
}
