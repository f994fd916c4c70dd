/** The client's side of signing, for the command line, the demo, tests and benchmarks. Source: tgv1-signing.md. */
import {
  canonicalPath,
  canonicalRequest,
  algorithm,
  hasBody,
  scopeTerminator,
  emptySha256,
  sha256Hex,
  deriveSigningKey,
} from './signature.ts';
import { hmacSha256 } from '../../lib/crypto/hmac.ts';
import { signedHeaderSet, type HeaderSet, signingDateAt } from './signing-headers.ts';

export interface SigningCredential {
  readonly accessKeyId: string;
  readonly secretKey: string;
  readonly appId: string;
}

export interface UnsignedRequest {
  readonly credential: SigningCredential;
  readonly method: string;
  readonly path: string;
  /** Without its question mark; '' for none. */
  readonly rawQuery: string;
  readonly body: Uint8Array | null;
  /** For methods with a body. Default: application/json. */
  readonly contentType?: string | undefined;
  readonly headerSet: HeaderSet;
  /** Wall milliseconds; the signature has whole seconds. */
  readonly atMs: number;
  /** Further headers to sign and send, by lower-case name. */
  readonly furtherHeaders?: Readonly<Record<string, string>>;
}

export type SigningSteps = Readonly<ReturnType<typeof explainSigning>>;

export function signRequest(request: UnsignedRequest): Record<string, string> {
  return explainSigning(request).headers;
}

/** All intermediate values, named as in the vectors. */
export function explainSigning(request: UnsignedRequest) {
  const { credential, method, rawQuery } = request;
  const date = signingDateAt(request.atMs);
  const bodySha256 = request.body === null ? emptySha256 : sha256Hex(request.body);
  const sent = {
    'X-Tg-Algorithm': algorithm,
    'X-Tg-Date': date.text,
    'X-Tg-App-Id': credential.appId,
    'X-Tg-Content-Sha256': bodySha256,
    ...contentHeaders(request),
    ...request.furtherHeaders,
  };
  const headers = new Map(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value.trim()]));
  const further = Object.keys(request.furtherHeaders ?? {});
  const names = [...signedHeaderSet(request.headerSet, method), ...further].sort();
  const signedHeaders = names.join(';');

  const path = canonicalPath(request.path);
  const key = deriveSigningKey(credential.secretKey, date.day, path);
  const parts = { method, path, query: rawQuery, signedHeaders, names, headers, bodySha256 };
  const canonical = canonicalRequest(parts);
  const stringToSign = date.toSignPrefix + sha256Hex(canonical);
  const signature = hmacSha256(key, stringToSign, 'hex');
  const scope = `${credential.accessKeyId}/${date.scopeDay}/${scopeTerminator}`;
  return {
    canonicalRequest: canonical,
    stringToSign,
    signingKeyHex: Buffer.from(key).toString('hex'),
    signature,
    headers: {
      ...sent,
      'X-Tg-Signed-Headers': signedHeaders,
      Authorization: `${algorithm} Credential=${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`,
    },
  };
}

function contentHeaders({ method, body, contentType }: UnsignedRequest): Record<string, string> {
  if (!hasBody(method)) return {};
  return {
    'Content-Type': contentType ?? 'application/json',
    'Content-Length': String(body?.length ?? 0),
  };
}
