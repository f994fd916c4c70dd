/** Signed requests for tests and benchmarks, as the front end passes them on. */
import { parseAccessKeyId, parseApplicationId } from '../../src/model/ids.ts';
import type { Credential } from '../../src/model/registry.ts';
import {
  checkRequest,
  type CheckDependencies,
  type SignedRequest,
} from '../../src/protocol/tgv1/check-request.ts';
import {
  signRequest,
  type SigningCredential,
  type UnsignedRequest,
} from '../../src/protocol/tgv1/sign-request.ts';
import { SigningKeyCache, type SignatureJob } from '../../src/protocol/tgv1/signature.ts';

/** The instant of the signing vectors, at which the driven clock starts too. */
export const signedAtMs = Date.UTC(2026, 10, 20, 8, 30, 0);

/** A credential with all permissions that never expires. */
export function credentialOf(signing: SigningCredential): Credential {
  const accessKeyId = parseAccessKeyId(signing.accessKeyId);
  const appId = parseApplicationId(signing.appId);
  if (accessKeyId === null || appId === null)
    throw new Error(`no ids: ${signing.accessKeyId}, ${signing.appId}`);
  return {
    accessKeyId,
    secretKey: signing.secretKey,
    appId,
    grants: ['*'],
    notBefore: null,
    notAfter: null,
    revoked: false,
  };
}

export const demoCredential = credentialOf({
  accessKeyId: 'AKtest0000000000001',
  secretKey: 'a secret of tests',
  appId: '2818153',
});

/** A signed request with all its headers, for tests that change one. */
export interface ReceivedRequest extends SignedRequest {
  readonly headers: ReadonlyMap<string, string>;
}

/** `target`: path and query as in a request line; header names are case-insensitive. */
export function received(
  method: string,
  target: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | null,
): ReceivedRequest {
  const [path = '', query = ''] = splitOnce(target, '?');
  const byName = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return { method, path, query, headers: new Map(byName), repeated: false, body };
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** A connectivity query signed by the demo credential at the instant of the vectors, unless `change` overrides it. */
export function unsigned(change: Partial<UnsignedRequest> = {}): UnsignedRequest {
  return {
    credential: demoCredential,
    method: 'GET',
    path: '/v1/device/connectivity',
    rawQuery: 'device_id=TESTDEVICE01',
    body: null,
    headerSet: 'long',
    atMs: signedAtMs,
    ...change,
  };
}

export function signed(change: Partial<UnsignedRequest> = {}): ReceivedRequest {
  const request = unsigned(change);
  return received(request.method, `${request.path}?${request.rawQuery}`, signRequest(request), request.body);
}

/** Checks as of a server with the demo credential, at the instant of the vectors. */
export function checking(change: Partial<CheckDependencies> = {}): CheckDependencies {
  return {
    findCredential: (id) => (id === demoCredential.accessKeyId ? demoCredential : null),
    signingKeys: new SigningKeyCache(),
    windowMs: 300_000,
    wallMs: () => signedAtMs,
    ...change,
  };
}

/** The verification job of a signed request. */
export function jobOf(request: SignedRequest, dependencies: CheckDependencies = checking()): SignatureJob {
  const checked = checkRequest(request, dependencies);
  if (!checked.ok) throw new Error(checked.error.message);
  return checked.value.job;
}

/** `count` valid jobs, each of another request: wakeups and queries in turn. */
export function distinctJobs(count: number): SignatureJob[] {
  const dependencies = checking();
  return Array.from({ length: count }, (_, index) => jobOf(distinctRequest(index), dependencies));
}

/** Request number `index`; all differ. */
export function distinctRequest(index: number): ReceivedRequest {
  const device = `DEVICE${String(index).padStart(8, '0')}`;
  if (index % 2 === 1) return signed({ rawQuery: `device_id=${device}` });
  const body = Buffer.from(JSON.stringify({ device_id: device, custom_data: '0x12aB' }));
  return signed({ method: 'POST', path: '/v1/device/wakeup-request', rawQuery: '', body });
}
