/** The twelve vectors of the signing scheme, from a file that an independent signer produced. */
import type { HeaderSet } from '../../src/protocol/tgv1/signing-headers.ts';
import { readFromRoot } from './checkout.ts';

export interface SigningVector {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly raw_query: string;
  readonly body: string;
  readonly header_set: HeaderSet;
  readonly canonical_request: string;
  readonly string_to_sign: string;
  readonly signing_key_hex: string;
  readonly signature: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface VectorFile {
  readonly credential: {
    readonly access_key_id: string;
    readonly secret_key: string;
    readonly app_id: string;
  };
  readonly signed_at: string;
  readonly vectors: readonly SigningVector[];
}

export const signingVectors = JSON.parse(readFromRoot('test/protocol/tgv1-vectors.json')) as VectorFile;
