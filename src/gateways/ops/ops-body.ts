/** Receives a request body on the ops listener: a small one in memory, an upload in a file. */
import { createWriteStream } from 'node:fs';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { isJsonContentType } from '../../protocol/rest/shared-fields.ts';
import type { OpsExchange } from './ops-exchange.ts';

const adminBodyBytesMax = 256 * 1024;
/** About ten million devices. */
const uploadBytesMax = 2 * 1024 * 1024 * 1024;

/** A body as the headers announce it. */
export interface BodyTerms {
  /** Empty when there is none. */
  readonly contentType: string;
  /** As announced; null: in chunks, or none. */
  readonly bytes: number | null;
  readonly hasBody: boolean;
}

export interface BodyRefusal {
  readonly status: 400 | 403 | 413 | 415 | 503;
  readonly message: string;
}

const tooLarge: BodyRefusal = { status: 413, message: 'request body too large' };
/** Never sent: the peer has hung up. */
const cutShort: BodyRefusal = { status: 400, message: 'request body cut short' };
const noJson: BodyRefusal = { status: 400, message: 'request body is not JSON' };
const noJsonType: BodyRefusal = { status: 415, message: 'Content-Type must be application/json' };
const noUploadType: BodyRefusal = {
  status: 415,
  message: 'Content-Type must be application/json or application/x-ndjson',
};

/** The parsed body; undefined where there is none. Call within the front end's handler. */
export async function takeJson(
  exchange: OpsExchange,
  terms: BodyTerms,
): Promise<Result<unknown, BodyRefusal>> {
  if (!terms.hasBody) return succeed(undefined);
  if (!isJsonContentType(terms.contentType)) return fail(noJsonType);
  if (terms.bytes !== null && terms.bytes > adminBodyBytesMax) return fail(tooLarge);
  const body = await readBody(exchange);
  if (!body.ok) return body;
  try {
    return succeed(JSON.parse(body.value.toString('utf8')));
  } catch {
    return fail(noJson);
  }
}

/**
 * The whole body in a new file, mode 0600. Call within the front end's handler. Rejects when the file cannot be
 * written; where it is not whole it may be there all the same.
 */
export async function takeUpload(
  exchange: OpsExchange,
  terms: BodyTerms,
  path: string,
): Promise<Result<undefined, BodyRefusal>> {
  const isKnownType = isJsonContentType(terms.contentType) || terms.contentType === 'application/x-ndjson';
  if (!isKnownType) return fail(noUploadType);
  if (terms.bytes !== null && terms.bytes > uploadBytesMax) return fail(tooLarge);
  return spoolBody(exchange, path);
}

function readBody(exchange: OpsExchange): Promise<Result<Buffer, BodyRefusal>> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    exchange.onBody(
      (chunk, isLast) => {
        bytes += chunk.byteLength;
        if (bytes > adminBodyBytesMax) return resolve(fail(tooLarge));
        chunks.push(copyOf(chunk));
        if (isLast) resolve(succeed(Buffer.concat(chunks, bytes)));
      },
      () => resolve(fail(cutShort)),
    );
  });
}

/** Reads from the peer no faster than the disk takes it. */
function spoolBody(exchange: OpsExchange, path: string): Promise<Result<undefined, BodyRefusal>> {
  return new Promise((resolve, reject) => {
    const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
    let bytes = 0;
    const giveUp = (refusal: BodyRefusal): void => {
      file.once('close', () => resolve(fail(refusal)));
      file.destroy();
    };
    file.on('error', reject);
    file.on('finish', () => resolve(succeed(undefined)));
    file.on('drain', () => exchange.resumeBody());
    exchange.onBody(
      (chunk, isLast) => {
        if (file.destroyed) return;
        bytes += chunk.byteLength;
        if (bytes > uploadBytesMax) return giveUp(tooLarge);
        if (isLast) file.end(copyOf(chunk));
        else if (!file.write(copyOf(chunk))) exchange.pauseBody();
      },
      () => giveUp(cutShort),
    );
  });
}

/** The front end takes its memory back when the handler returns. */
function copyOf(chunk: ArrayBuffer): Buffer {
  return Buffer.from(new Uint8Array(chunk));
}
