/** Properties of signing any request: signer and checker agree, and no signed part can change. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { checkRequest, type SignedRequest } from '../../src/protocol/tgv1/check-request.ts';
import { verifySignature } from '../../src/protocol/tgv1/signature.ts';
import { formatSigningDate, parseSigningDate } from '../../src/protocol/tgv1/signing-headers.ts';
import { checking, jobOf, signed, type ReceivedRequest } from '../support/signed-requests.ts';

const dependencies = checking();

const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const furtherHeaders = fc.dictionary(
  fc.stringMatching(/^x-further-[a-z0-9-]{0,12}$/),
  fc.string({ maxLength: 40 }).map((value) => value.trim()),
  { maxKeys: 4 },
);

const signedRequest: fc.Arbitrary<ReceivedRequest> = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'),
    path: text.map((tail) => `/v1/${tail.replaceAll('?', '')}`),
    rawQuery: text,
    body: fc.option(fc.uint8Array({ maxLength: 2000 }), { nil: null }),
    contentType: fc.constantFrom('application/json', 'application/json; charset=utf-8', 'text/plain'),
    headerSet: fc.constantFrom('long', 'short'),
    furtherHeaders,
  })
  .map(signed);

function verdictOf(request: SignedRequest): string {
  const checked = checkRequest(request, dependencies);
  return checked.ok ? verifySignature(checked.value.job) : checked.error.message;
}

test('a signed request is valid if it arrives unchanged', () => {
  fc.assert(
    fc.property(signedRequest, (request) => {
      assert.equal(verdictOf(request), 'valid');
    }),
  );
});

function flipped(bytes: Uint8Array, at: number, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at % copy.length] = (copy[at % copy.length] ?? 0) ^ (1 << bit);
  return copy;
}

const place = fc.nat();
const bit = fc.integer({ min: 0, max: 7 });

test('one flipped bit in the body, the key or the canonical request makes it invalid', () => {
  fc.assert(
    fc.property(signedRequest, place, bit, (request, at, bit) => {
      const job = jobOf(request, dependencies);
      const canonical = flipped(Buffer.from(job.canonicalRequest), at, bit);
      const key = flipped(job.signingKey, at, bit);

      assert.equal(verifySignature({ ...job, canonicalRequest: canonical }), 'signature-mismatch');
      assert.equal(verifySignature({ ...job, signingKey: key }), 'signature-mismatch');
      if (job.body !== null && job.body.length > 0)
        assert.equal(verifySignature({ ...job, body: flipped(job.body, at, bit) }), 'body-hash-mismatch');
    }),
  );
});

test('a changed value of any signed header is detected', () => {
  fc.assert(
    fc.property(signedRequest, place, (request, at) => {
      const names = (request.headers.get('x-tg-signed-headers') ?? '').split(';');
      const name = names[at % names.length] ?? '';
      const headers = new Map(request.headers).set(name, `${request.headers.get(name)}x`);

      assert.notEqual(verdictOf({ ...request, headers }), 'valid');
    }),
  );
});

test('every second of the calendar survives formatting and parsing', () => {
  const second = fc.date({
    noInvalidDate: true,
    min: new Date('0000-01-01T00:00:00Z'),
    max: new Date('9999-12-24T23:59:59Z'),
  });
  fc.assert(
    fc.property(second, (date) => {
      const ms = Math.floor(date.getTime() / 1000) * 1000;
      const read = parseSigningDate(formatSigningDate(ms));

      assert.equal(read?.ms, ms);
      assert.equal(parseSigningDate(formatSigningDate(ms + 7 * 86_400_000))?.day, read.scopeDay);
    }),
  );
});
