/** The table of failures in tgv1-signing.md, row by row and in its order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdictFailure } from '../../../../src/protocol/tgv1/auth-failure.ts';
import {
  checkRequest,
  type CheckDependencies,
  type SignedRequest,
} from '../../../../src/protocol/tgv1/check-request.ts';
import { SigningKeyCache, verifySignature } from '../../../../src/protocol/tgv1/signature.ts';
import {
  checking,
  credentialOf,
  demoCredential,
  signed,
  signedAtMs,
} from '../../../support/signed-requests.ts';

/** A way to spoil a request, or the server that checks it. */
type Spoil = (headers: Map<string, string>) => {
  readonly request?: Partial<SignedRequest>;
  readonly server?: Partial<CheckDependencies>;
};

interface Row {
  readonly message: string;
  readonly reason: string;
  readonly spoils: Readonly<Record<string, Spoil>>;
}

function set(name: string, value: string): Spoil {
  return (headers) => {
    headers.set(name, value);
    return {};
  };
}

function without(name: string): Spoil {
  return (headers) => {
    headers.delete(name);
    return {};
  };
}

function edit(change: (text: string) => string, name = 'authorization'): Spoil {
  return (headers) => {
    headers.set(name, change(headers.get(name) ?? ''));
    return {};
  };
}

/** Sets both lists. */
function signedList(list: string): Spoil {
  return (headers) => {
    const authorization = headers.get('authorization') ?? '';
    headers.set('authorization', authorization.replace(/SignedHeaders=[^,]*/, `SignedHeaders=${list}`));
    headers.set('x-tg-signed-headers', list);
    return {};
  };
}

function serverWith(server: Partial<CheckDependencies>): Spoil {
  return () => ({ server });
}

function credentialWith(change: Partial<typeof demoCredential>): Spoil {
  return serverWith({ findCredential: () => ({ ...demoCredential, ...change }) });
}

const nowS = signedAtMs / 1000;

function missing(name: string): Row {
  return {
    message: `missing header ${name}`,
    reason: 'missing_header',
    spoils: { 'without it': without(name.toLowerCase()), 'with it empty': set(name.toLowerCase(), '') },
  };
}

/** In the order of the table; a request with several faults is answered with the first. */
const table: readonly Row[] = [
  missing('X-Tg-Algorithm'),
  missing('X-Tg-Date'),
  missing('X-Tg-App-Id'),
  missing('X-Tg-Content-Sha256'),
  missing('X-Tg-Signed-Headers'),
  missing('Authorization'),
  {
    message: 'unsupported algorithm',
    reason: 'unsupported_algorithm',
    spoils: {
      'with another algorithm': set('x-tg-algorithm', 'TGV2-HMAC-SHA256'),
      'with its algorithm in lower case': set('x-tg-algorithm', 'tgv1-hmac-sha256'),
      'with its scheme in lower case': edit((text) => text.replace('TGV1-HMAC-SHA256', 'tgv1-hmac-sha256')),
      'with another scheme': edit((text) => text.replace('TGV1-HMAC-SHA256', 'AWS4-HMAC-SHA256')),
      'with a bearer token': set('authorization', 'Bearer token'),
    },
  },
  {
    message: 'malformed authorization',
    reason: 'malformed_authorization',
    spoils: {
      'with a header given twice': () => ({ request: { repeated: true } }),
      'with nothing but the scheme': set('authorization', 'TGV1-HMAC-SHA256'),
      'with a short signature': edit((text) => text.slice(0, -1)),
      'whose lists differ': set('x-tg-signed-headers', 'x-tg-app-id;x-tg-date'),
      'whose lists are unsorted': signedList('x-tg-date;x-tg-app-id'),
      'whose lists repeat a name': signedList('x-tg-app-id;x-tg-date;x-tg-date'),
      'whose scope is the signing day': edit((text) => text.replace('/20261127/', '/20261120/')),
      'whose scope is a day late': edit((text) => text.replace('/20261127/', '/20261128/')),
    },
  },
  {
    message: 'malformed X-Tg-Date',
    reason: 'malformed_date',
    spoils: {
      'of an ISO date': set('x-tg-date', '2026-11-20T08:30:00Z'),
      'of 31 November': set('x-tg-date', '20261131T083000Z'),
    },
  },
  {
    message: 'signed headers incomplete',
    reason: 'signed_headers_incomplete',
    spoils: {
      'that does not sign its application': signedList('content-length;content-type;x-tg-date'),
      'that does not sign its date': signedList('content-length;content-type;x-tg-app-id'),
      'that does not sign its content type': signedList('content-length;x-tg-app-id;x-tg-date'),
      'that lists a header it does not have': signedList('content-type;x-absent;x-tg-app-id;x-tg-date'),
      'without the content length that it lists': without('content-length'),
      'without the content type that it lists': without('content-type'),
    },
  },
  {
    message: 'unknown or revoked credential',
    reason: 'unknown_credential',
    spoils: {
      'of an unknown credential': serverWith({ findCredential: () => null }),
      'of a revoked credential': credentialWith({ revoked: true }),
      'of a credential not yet valid': credentialWith({ notBefore: nowS + 1 }),
      'of a credential no longer valid': credentialWith({ notAfter: nowS }),
    },
  },
  {
    message: 'application mismatch',
    reason: 'application_mismatch',
    spoils: { 'for another application': set('x-tg-app-id', '9999999') },
  },
  {
    message: 'request time outside the allowed window; server time 20261120T082459Z',
    reason: 'outside_window',
    spoils: { 'from the future': serverWith({ wallMs: () => signedAtMs - 300_001 }) },
  },
  {
    message: 'body hash mismatch',
    reason: 'body_hash_mismatch',
    spoils: {
      'with another body': () => ({ request: { body: Buffer.from('{}') } }),
      'with its hash in upper case': edit((text) => text.toUpperCase(), 'x-tg-content-sha256'),
    },
  },
  {
    message: 'signature mismatch',
    reason: 'signature_mismatch',
    spoils: {
      'with another signature': edit((text) => text.slice(0, -64) + '0'.repeat(64)),
      'with its signature in upper case': edit((text) => text.slice(0, -64) + text.slice(-64).toUpperCase()),
      'to another path': () => ({ request: { path: '/v1/device/connectivity' } }),
    },
  },
];

const wakeup = signed({
  method: 'POST',
  path: '/v1/device/wakeup-request',
  rawQuery: '',
  body: Buffer.from('{"device_id":"TESTDEVICE01"}'),
});

/** The failure of a wakeup with these faults, up to the signature; null: none. */
function failureOf(spoils: readonly Spoil[]): { reason: string; message: string } | null {
  const headers = new Map(wakeup.headers);
  const spoiled = spoils.map((spoil) => spoil(headers));
  const request: SignedRequest = Object.assign({ ...wakeup, headers }, ...spoiled.map((by) => by.request));
  const server: CheckDependencies = Object.assign(checking(), ...spoiled.map((by) => by.server));
  const checked = checkRequest(request, server);
  if (!checked.ok) return checked.error;
  const verdict = verifySignature(checked.value.job);
  return verdict === 'valid' ? null : verdictFailure(verdict, checked.value.job);
}

test('a correctly signed wakeup has no failure', () => {
  assert.equal(failureOf([]), null);
});

for (const { message, reason, spoils } of table)
  for (const [what, spoil] of Object.entries(spoils)) {
    test(`a wakeup ${what} is answered "${message}"`, () => {
      const failure = failureOf([spoil]);

      assert.equal(failure?.message, message);
      assert.equal(failure?.reason, reason);
    });
  }

const firstOfEachRow = table.map((row) => Object.values(row.spoils).slice(0, 1));

for (const [index, { message, reason }] of table.entries()) {
  test(`a wakeup with every fault from there on is answered "${message}"`, () => {
    // Later rows spoil first, so that an earlier row's change of a header remains.
    const failure = failureOf(firstOfEachRow.slice(index).reverse().flat());

    assert.equal(failure?.message, message);
    assert.equal(failure?.reason, reason);
  });
}

test('the window is ±300 s to the millisecond, its ends included', () => {
  for (const offsetMs of [-300_000, 300_000]) {
    assert.equal(failureOf([serverWith({ wallMs: () => signedAtMs + offsetMs })]), null);
  }
  assert.equal(
    failureOf([serverWith({ wallMs: () => signedAtMs + 300_001 })])?.message,
    'request time outside the allowed window; server time 20261120T083500Z',
  );
});

test('a credential is looked up only for a well-formed request', () => {
  const failure = failureOf([
    signedList('content-length;content-type;x-tg-date'),
    serverWith({
      findCredential: () => {
        throw new Error('the registry was asked');
      },
    }),
  ]);

  assert.equal(failure?.reason, 'signed_headers_incomplete');
});

test('a further header may be signed, also one without a value', () => {
  const request = signed({ furtherHeaders: { 'x-request-id': 'r-1', 'x-empty': '' } });
  const checked = checkRequest(request, checking());

  assert.ok(checked.ok);
  assert.match(checked.value.job.canonicalRequest, /\nx-empty:\nx-request-id:r-1\n/);
  assert.equal(verifySignature(checked.value.job), 'valid');
});

test('a checked request has its credential and its date', () => {
  const checked = checkRequest(wakeup, checking());

  assert.ok(checked.ok);
  assert.equal(checked.value.credential, demoCredential);
  assert.equal(checked.value.dateMs, signedAtMs);
});

function caller(accessKeyId: string): typeof demoCredential {
  return credentialOf({ accessKeyId, secretKey: `the secret of ${accessKeyId}`, appId: '2818153' });
}

/** Verdicts of one server on consecutive requests. */
function verdicts(requests: readonly SignedRequest[], server: CheckDependencies): string[] {
  return requests.map((request) => {
    const checked = checkRequest(request, server);
    return checked.ok
      ? `${verifySignature(checked.value.job)} ${checked.value.credential.accessKeyId}`
      : checked.error.reason;
  });
}

test('two callers whose access keys differ in a byte are never confused', () => {
  const [one, other] = [caller('AKcaller-1'), caller('AKcaller-2')];
  const server = checking({
    findCredential: (id) => [one, other].find(({ accessKeyId }) => accessKeyId === id) ?? null,
  });
  const ofOne = signed({ credential: one });
  const ofOther = signed({ credential: other });
  const claimed = (ofOne.headers.get('authorization') ?? '').replace(one.accessKeyId, other.accessKeyId);
  const stolen = { ...ofOne, headers: new Map(ofOne.headers).set('authorization', claimed) };

  assert.deepEqual(verdicts([ofOne, ofOther, stolen, ofOne, stolen, ofOther], server), [
    'valid AKcaller-1',
    'valid AKcaller-2',
    'signature-mismatch AKcaller-2',
    'valid AKcaller-1',
    'signature-mismatch AKcaller-2',
    'valid AKcaller-2',
  ]);
});

test('an accepted caller is refused as soon as its credential is revoked or has another secret', () => {
  let known = demoCredential;
  const signingKeys = new SigningKeyCache();
  const server = checking({ findCredential: () => known, signingKeys });
  const answers = [verdicts([signed()], server)];
  for (const changed of [{ revoked: true }, { secretKey: 'the next secret' }, {}]) {
    known = { ...demoCredential, ...changed };
    answers.push(verdicts([signed()], server));
  }

  assert.deepEqual(answers.flat(), [
    'valid AKtest0000000000001',
    'unknown_credential',
    'signature-mismatch AKtest0000000000001',
    'valid AKtest0000000000001',
  ]);
});
