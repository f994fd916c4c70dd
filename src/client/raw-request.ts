/** A signed request made by hand, of any path: for what the methods do not have, and to see what the server says. */
import { decodeJsonObject } from '../lib/json-object.ts';
import type { IncomingHttpHeaders } from 'node:http';
import type { HeaderSet } from '../protocol/tgv1/signing-headers.ts';
import type { WireReply } from './transport.ts';

export interface RawRequest {
  /** In upper case. */
  readonly method: string;
  /** As it is signed and sent: percent-encoded. */
  readonly path: string;
  /** Without its question mark; none when left out. */
  readonly rawQuery?: string | undefined;
  readonly body?: Uint8Array | null | undefined;
  /** Of a body; application/json when left out. */
  readonly contentType?: string | undefined;
  /** Which headers are signed; `long` when left out. */
  readonly headerSet?: HeaderSet | undefined;
  /** Sent and not signed. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body; null when it is no JSON object. */
  readonly json: { readonly [key: string]: unknown } | null;
}

export function rawAnswerOf({ status, headers, body }: WireReply): RawAnswer {
  const json = decodeJsonObject(body);
  return { status, headers, text: Buffer.from(body).toString(), json: json.ok ? json.value : null };
}
