/**
 * Signed requests: the cheap check, and verification where it may be done. Over thousands of distinct requests,
 * because one that is repeated measures a cache. Verification runs 32 at a time, as a turn of a busy event loop
 * collects them. Of the pool this times the way there and back; what the pool is for, the main loop's own share,
 * is what bench/verification-share.ts measures.
 */
import type { Bench } from 'tinybench';
import { assert } from '../../src/lib/assert.ts';
import type { SignatureVerifier } from '../../src/core/ports/signature-verifier.ts';
import { canonicalRequest } from '../../src/protocol/tgv1/signature.ts';
import { checkRequest, type SignedRequest } from '../../src/protocol/tgv1/check-request.ts';
import { parseSignedHeaders } from '../../src/protocol/tgv1/signing-headers.ts';
import { InlineVerifier, HmacPool } from '../../src/gateways/verification/hmac-pool.ts';
import { checking, distinctRequest, jobOf } from '../../test/support/signed-requests.ts';
import { verdictOf } from '../../test/support/verdict.ts';

const requestCount = 4096;
const batchJobs = 32;

/** Gives the items again and again, each in its turn. */
function cycle<Item>(items: readonly Item[]): () => Item {
  let next = 0;
  return () => {
    const item = items[next++ % items.length];
    assert(item !== undefined, 'there are items to go through');
    return item;
  };
}

function canonicalText(request: SignedRequest): string {
  const { method, path, query, headers } = request;
  const signedHeaders = headers.get('x-tg-signed-headers') ?? '';
  const names = parseSignedHeaders(signedHeaders) ?? [];
  const bodySha256 = headers.get('x-tg-content-sha256') ?? '';
  return canonicalRequest({ method, path, query, signedHeaders, names, headers, bodySha256 });
}

/** Resolves to what ends the pool again. */
export async function register(bench: Bench): Promise<() => Promise<void>> {
  const server = checking();
  const requests = Array.from({ length: requestCount }, (_, index) => distinctRequest(index));
  const nextRequest = cycle(requests);
  const nextJob = cycle(requests.map((request) => jobOf(request, server)));
  const inline = new InlineVerifier();
  const pool = await HmacPool.start({
    threads: 1,
    onFault: (error) => {
      throw error;
    },
  });

  async function verifyBatch(verifier: SignatureVerifier): Promise<void> {
    const verdicts = await Promise.all(
      Array.from({ length: batchJobs }, () => verdictOf(verifier, nextJob())),
    );
    assert(
      verdicts.every((verdict) => verdict === 'valid'),
      'what is measured is verification, not failure',
    );
  }

  bench
    .add('tgv1: canonical request', () => {
      canonicalText(nextRequest());
    })
    .add('tgv1: check a request', () => {
      assert(checkRequest(nextRequest(), server).ok, 'what is measured is a good request');
    })
    .add('tgv1: verify inline', () => {
      assert(inline.verify(nextJob()) === 'valid', 'what is measured is verification, not failure');
    })
    .add(`tgv1: verify ${batchJobs} inline`, () => verifyBatch(inline))
    .add(`tgv1: verify ${batchJobs} through the pool`, () => verifyBatch(pool));
  return () => pool.close();
}
