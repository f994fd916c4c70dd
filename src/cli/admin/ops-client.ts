/**
 * Changes to a running server and questions to it, asked of its ops listener with the token of its data directory.
 * What the listener refuses becomes a CommandError with its words.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { text as readText } from 'node:stream/consumers';
import { findOpsToken } from '../../gateways/ops/ops-token.ts';
import type { Runtime } from '../../server/bootstrap/runtime-file.ts';
import { CommandError } from '../shell/command-error.ts';
import { findRunningServer, reachableAddress } from './running-server.ts';

/** A change is answered at once; an import says how far it is at least this often. */
const silentMsMax = 60_000;

/** The server could not be reached, or could not answer now: the same may be asked again. */
export class OpsUnavailableError extends CommandError {}

/** Null when the store is at rest. Throws a CommandError like `findRunningServer` and `opsClientOf`. */
export function findOpsClient(dataDirectory: string): OpsClient | null {
  const running = findRunningServer(dataDirectory);
  return running === null ? null : opsClientOf(running, dataDirectory);
}

/** Throws a CommandError when the directory has no token. */
export function opsClientOf(runtime: Runtime, dataDirectory: string): OpsClient {
  const listener = runtime.listeners['ops'];
  const token = findOpsToken(dataDirectory);
  if (listener === undefined || token === null)
    throw new CommandError(
      `the running server (process ${runtime.pid}) cannot be administrated: ${dataDirectory} has no ops.token`,
      'restart it',
    );
  return new OpsClient(reachableAddress(listener), token);
}

export class OpsClient {
  readonly #origin: string;
  readonly #token: string;

  constructor(address: string, token: string) {
    this.#origin = `http://${address}`;
    this.#token = token;
  }

  /**
   * The answer to a question; nothing changes by it. Throws an OpsUnavailableError when none came, and when `signal`
   * gave it up.
   */
  async ask<Answer>(path: string, query: URLSearchParams, signal?: AbortSignal): Promise<Answer> {
    const response = await this.#send(`${path}?${query.toString()}`, { method: 'GET', signal }, (sent) =>
      Promise.resolve(void sent.end()),
    );
    try {
      return JSON.parse(await readText(response)) as Answer;
    } catch (error) {
      throw silence(error as Error);
    }
  }

  /** The answer to one change. */
  async change<Answer>(path: string, body: object): Promise<Answer> {
    const json = JSON.stringify(body);
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json) };
    const response = await this.#send(path, { method: 'POST', headers }, (sent) =>
      Promise.resolve(void sent.end(json)),
    );
    return JSON.parse(await readText(response)) as Answer;
  }

  /** Uploads a registry file. `onProgress` is told the entries read so far, now and then. */
  async importFile<Report>(
    file: string,
    replace: boolean,
    onProgress: (entries: number) => void,
  ): Promise<Report> {
    const { size } = await stat(file);
    const contentType = /\.(ndjson|jsonl)$/i.test(file) ? 'application/x-ndjson' : 'application/json';
    const headers = { 'Content-Type': contentType, 'Content-Length': size };
    const path = `/v1/registry/import?replace=${replace}`;
    const response = await this.#send(path, { method: 'POST', headers }, (sent) =>
      pipeline(createReadStream(file), sent),
    );
    for await (const line of createInterface({ input: response })) {
      const said = JSON.parse(line) as ImportLine<Report>;
      if (said.error !== undefined)
        throw new CommandError(said.error.replace(/^the file\b/, file), 'nothing was changed');
      if (said.result !== undefined) return said.result;
      if (said.progress !== undefined) onProgress(said.progress);
    }
    throw new CommandError('the server ended the import without a word', 'look into its log');
  }

  /** The response to what was not refused. */
  #send(
    path: string,
    { method, headers, signal }: Sending,
    write: (sent: ReturnType<typeof request>) => Promise<void>,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const options = { method, headers: { ...headers, Authorization: `Bearer ${this.#token}` } };
      const sent = request(this.#origin + path, { ...options, agent: false, ...(signal && { signal }) });
      sent.setTimeout(silentMsMax, () => sent.destroy(new Error('no answer')));
      const fail = (error: Error): void => reject(silence(error));
      sent.on('error', fail);
      sent.on('response', (response) => {
        if (response.statusCode === 200) resolve(response);
        else void refusalOf(response).then(reject, fail);
      });
      // An answer that comes before the whole body was read breaks the upload: the answer tells more.
      write(sent).catch(() => undefined);
    });
  }
}

interface Sending {
  readonly method: 'GET' | 'POST';
  readonly headers?: OutgoingHttpHeaders;
  readonly signal?: AbortSignal | undefined;
}

function silence(error: Error): OpsUnavailableError {
  return new OpsUnavailableError(`the running server did not answer on its ops listener: ${error.message}`);
}

interface ImportLine<Report> {
  readonly progress?: number;
  readonly result?: Report;
  readonly error?: string;
}

async function refusalOf(response: IncomingMessage): Promise<CommandError> {
  const Refusal = (response.statusCode ?? 0) >= 500 ? OpsUnavailableError : CommandError;
  const text = await readText(response);
  try {
    return new Refusal((JSON.parse(text) as { error: string }).error);
  } catch {
    return new Refusal(`the ops listener answered ${response.statusCode}`, 'is it of another release?');
  }
}
