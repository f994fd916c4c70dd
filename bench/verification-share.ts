/**
 * What verifying signatures costs the main loop, inline and through the pool: microseconds in which the loop was
 * busy, per job, by how many jobs a turn collects. Inline blocks the loop; the pool is worth its threads only
 * where it keeps the loop freer. `crossing always` has every batch cross over, whatever its size: where it gets
 * cheaper than inline is what `crossingJobsMin` should be.
 */
import { performance } from 'node:perf_hooks';
import { assert } from '../src/lib/assert.ts';
import type { SignatureVerifier } from '../src/core/ports/signature-verifier.ts';
import type { SignatureJob } from '../src/protocol/tgv1/signature.ts';
import { InlineVerifier, HmacPool } from '../src/gateways/verification/hmac-pool.ts';
import { distinctJobs } from '../test/support/signed-requests.ts';
import { verdictOf } from '../test/support/verdict.ts';

const jobs = distinctJobs(4096);
const turnSizes = [1, 4, 8, 12, 16, 32, 64, 128];
const jobsMeasured = 16_384;
const rounds = 5;

/** Turns of `size` jobs, one after another, until `jobsMeasured` have their verdict. */
async function run(verifier: SignatureVerifier, size: number): Promise<void> {
  for (let from = 0; from < jobsMeasured; from += size) {
    const asked: SignatureJob[] = jobs.slice(from % jobs.length, (from % jobs.length) + size);
    const verdicts = await Promise.all(asked.map((job) => verdictOf(verifier, job)));
    assert(
      verdicts.every((verdict) => verdict === 'valid'),
      'what is measured is verification, not failure',
    );
    // Ends the turn, so that waiting for a worker is waiting in the poll, where the loop is idle.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** The best of some rounds: what disturbs one only ever adds to it. */
async function busyMicroseconds(verifier: SignatureVerifier, size: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const before = performance.eventLoopUtilization();
    await run(verifier, size);
    const { active } = performance.eventLoopUtilization(before);
    best = Math.min(best, (active * 1000) / jobsMeasured);
  }
  return best;
}

function onFault(error: unknown): void {
  throw error;
}

const verifiers: Readonly<Record<string, SignatureVerifier>> = {
  inline: new InlineVerifier(),
  'through the pool': await HmacPool.start({ threads: 1, onFault }),
  'crossing always': await HmacPool.start({ threads: 1, onFault, crossingJobsMin: 1 }),
};

console.log(`${'jobs a turn'.padEnd(18)}${turnSizes.map((size) => String(size).padStart(8)).join('')}`);
for (const [name, verifier] of Object.entries(verifiers)) {
  const shares: string[] = [];
  for (const size of turnSizes) shares.push((await busyMicroseconds(verifier, size)).toFixed(2).padStart(8));
  console.log(`${name.padEnd(18)}${shares.join('')}  µs of the main loop a job`);
  await verifier.close();
}
