/** A client of a running server's ops listener. A refusal is thrown as a CommandError with the server's text. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { request, type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { queryOf } from '../../client/request-sender.ts';
import { CommandError } from '../shell/command-error.ts';
import { explainConnectionFailure } from '../shell/connection-failure.ts';
import {
  encodeImportQuery,
  type ImportLine,
  type ImportReportJson,
  type ImportTerms,
} from '../../gateways/admin/import-query.ts';
import type { JsonObject } from '../../model/json.ts';
import type { ImportProgress } from '../../storage/registry/registry-import.ts';
import type { KindName } from '../../storage/registry/registry-kinds.ts';
import { MissingError, noOpsListener, OpsUnavailableError, refusalOf } from './ops-refusal.ts';

/** Progress of an upload, or of a phase of the import that follows. */
export type FileProgress = ImportProgress | { readonly phase: 'uploading'; readonly share: number };

export interface FileWatch {
  readonly onProgress?: ((progress: FileProgress) => void) | undefined;
  /** Cancels the import; it is then refused, unless it was committed already. */
  readonly signal?: AbortSignal | undefined;
}

/** Maximum time without a byte from the server: changes are answered at once, and imports report progress more often. */
const silentMsMax = 60_000;

/** Undefined fields are not sent. */
export type OpsQuery = URLSearchParams | Readonly<Record<string, string | number | undefined>>;

interface OpsClientOptions {
  readonly name?: string;
  readonly trust?: ConnectionOptions | undefined;
}

export class OpsClient {
  readonly name: string;
  readonly #origin: string;
  readonly #token: string;
  readonly #trust: ConnectionOptions | undefined;

  /** `trust`: for an https origin; undefined: Node's own certificate authorities. */
  constructor(origin: string, token: string, { name = 'the running server', trust }: OpsClientOptions = {}) {
    this.name = name;
    this.#origin = origin;
    this.#token = token;
    this.#trust = trust;
  }

  /** The answer to a read. Throws an OpsUnavailableError if no answer came or `signal` was aborted. */
  async ask<Answer>(path: string, query: OpsQuery = {}, signal?: AbortSignal): Promise<Answer> {
    const address = `${path}?${query instanceof URLSearchParams ? query.toString() : queryOf(query)}`;
    return this.#read<Answer>(await this.#send(address, { method: 'GET', signal }, (sent) => sent.end()));
  }

  /** An entry of the registry, secrets masked; null: not found. */
  async findEntry(kind: KindName, id: string): Promise<JsonObject | null> {
    const query = new URLSearchParams({ kind, id });
    try {
      return (await this.ask<{ entry: JsonObject }>('/v1/registry/entry', query)).entry;
    } catch (error) {
      if (error instanceof MissingError) return null;
      throw error;
    }
  }

  /** A streamed answer of any size: its headers and chunks. The iterator throws an OpsUnavailableError if the answer is cut short. */
  async open(
    path: string,
    query = new URLSearchParams(),
    signal?: AbortSignal,
  ): Promise<{ readonly headers: IncomingHttpHeaders; readonly pieces: AsyncIterable<Buffer> }> {
    const address = `${path}?${query.toString()}`;
    const response = await this.#send(address, { method: 'GET', signal }, (sent) => sent.end());
    return { headers: response.headers, pieces: this.#piecesOf(response) };
  }

  /** The answer to a change, which the server records in the audit log. */
  async change<Answer>(path: string, body: object): Promise<Answer> {
    const json = JSON.stringify(body);
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json) };
    return this.#read<Answer>(await this.#send(path, { method: 'POST', headers }, (sent) => sent.end(json)));
  }

  /**
   * Imports a registry file; with `dryRun` it only reports the effect. A cancellation closes the connection while the file is being
   * uploaded; afterwards it is a request of its own.
   */
  async importFile(
    file: string,
    terms: ImportTerms,
    { onProgress = () => undefined, signal }: FileWatch = {},
  ): Promise<ImportReportJson> {
    const { size } = await stat(file);
    const importId = randomUUID();
    const contentType = /\.(ndjson|jsonl)$/i.test(file) ? 'application/x-ndjson' : 'application/json';
    const headers = { 'Content-Type': contentType, 'Content-Length': size };
    const path = `/v1/registry/import?${encodeImportQuery({ ...terms, importId }).toString()}`;
    const given = new AbortController();
    let isSent = false;
    const cancel = (): void => {
      if (!isSent) return given.abort();
      this.change('/v1/registry/cancel-import', { import: importId }).catch(() => given.abort());
    };
    signal?.addEventListener('abort', cancel);
    if (signal?.aborted === true) cancel();
    try {
      const response = await this.#send(
        path,
        { method: 'POST', headers, signal: given.signal },
        async (sent) => {
          await pipeline(createReadStream(file), reportShare(size, onProgress), sent);
          isSent = true;
        },
      );
      return await readImport(response, file, onProgress);
    } catch (error) {
      if (!isSent && given.signal.aborted)
        throw new CommandError(`${file}: the import was cancelled`, nothingChanged);
      throw error;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  #send(
    path: string,
    { method, headers, signal }: Sending,
    write: (sent: ReturnType<typeof request>) => unknown,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const send = this.#origin.startsWith('https:') ? secureRequest : request;
      const sent = send(this.#origin + path, {
        method,
        headers: { ...headers, Authorization: `Bearer ${this.#token}` },
        ...this.#trust,
        agent: false,
        ...(signal && { signal }),
      });
      sent.setTimeout(silentMsMax, () => sent.destroy(new Error('no answer')));
      const fail = (error: Error): void => reject(this.#silence(error));
      sent.on('error', fail);
      sent.on('response', (response) => {
        if (response.statusCode === 200) resolve(response);
        else void readRefusal(response).then(reject, fail);
      });
      // An early answer breaks the upload; that answer explains more than the write error.
      Promise.resolve(write(sent)).catch(() => undefined);
    });
  }

  async *#piecesOf(response: IncomingMessage): AsyncGenerator<Buffer> {
    try {
      yield* response as AsyncIterable<Buffer>;
    } catch (error) {
      throw this.#silence(error as Error);
    }
  }

  async #read<Answer>(response: IncomingMessage): Promise<Answer> {
    let text: string;
    try {
      text = await readAnswer(response);
    } catch (error) {
      throw this.#silence(error as Error);
    }
    try {
      return JSON.parse(text) as Answer;
    } catch {
      throw noOpsListener(response);
    }
  }

  #silence(error: Error): OpsUnavailableError {
    const { reason, advice } = explainConnectionFailure(
      error,
      'check that the server runs, and the address in the profile if you use one',
      'add the profile again with --ca FILE, the certificate of its authority',
    );
    return new OpsUnavailableError(`no answer from the ops listener at ${this.#origin}: ${reason}`, advice);
  }
}

interface Sending {
  readonly method: 'GET' | 'POST';
  readonly headers?: OutgoingHttpHeaders;
  readonly signal?: AbortSignal | undefined;
}

/** Maximum answer size: the largest, 10 000 lines of the audit log, fits. */
const answerBytesMax = 256 * 1024 * 1024;

/** Throws if the answer is larger than any the server sends. */
async function readAnswer(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new Error(`its answer is larger than ${answerBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

export const nothingChanged = 'nothing was changed';

function reportShare(
  size: number,
  onProgress: (progress: FileProgress) => void,
): (pieces: AsyncIterable<Buffer>) => AsyncGenerator<Buffer> {
  return async function* (pieces) {
    let bytes = 0;
    for await (const piece of pieces) {
      yield piece;
      bytes += piece.length;
      onProgress({ phase: 'uploading', share: bytes / size });
    }
  };
}

async function readImport(
  response: IncomingMessage,
  file: string,
  onProgress: (progress: FileProgress) => void,
): Promise<ImportReportJson> {
  const lines = createInterface({ input: response });
  // The stream may fail after the last line was read; without a listener that error would end the process.
  lines.on('error', () => undefined);
  try {
    for await (const line of lines) {
      const said = JSON.parse(line) as ImportLine;
      if (said.error !== undefined)
        throw new CommandError(said.error.replace(/^the file\b/, file), nothingChanged);
      if (said.result !== undefined) return said.result;
      if (said.progress !== undefined) onProgress(said.progress);
    }
  } catch (error) {
    // The connection broke, or the line is no part of an import.
    if (error instanceof CommandError) throw error;
  }
  throw new CommandError('the server closed the connection during the import', 'read its log');
}

async function readRefusal(response: IncomingMessage): Promise<CommandError> {
  const { statusCode: status = 0 } = response;
  const text = await readAnswer(response);
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'string' ? refusalOf(status, error) : noOpsListener(response);
  } catch {
    return noOpsListener(response);
  }
}
