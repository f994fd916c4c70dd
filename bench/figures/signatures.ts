/** Checking one signed request on the thread that received it, against the HMAC that it cannot do without. */
import { createHmac } from 'node:crypto';
import { Bench } from 'tinybench';
import { assert } from '../../src/lib/assert.ts';
import { inlineVerifier } from '../../src/gateways/verification/late-verifier.ts';
import { checkRequest } from '../../src/protocol/tgv1/check-request.ts';
import { stringToSign } from '../../src/protocol/tgv1/signature.ts';
import { checking, distinctRequest, jobOf } from '../../test/support/signed-requests.ts';
import { atMost, ratioTo, type AnyScale, type Benchmark, type Measurement } from '../harness/benchmark.ts';

/** Distinct requests, because a repeated one would measure a cache. */
const requestCount = 4096;
/** Operations between two readings of the CPU clock, which does not count other load of the machine. */
const batchSize = 64;
const plans = {
  full: { time: 400, warmupTime: 100 },
  short: { time: 300, warmupTime: 100 },
  smoke: { time: 1, iterations: 1, warmupTime: 0, warmupIterations: 1 },
};

const rows = {
  floor: 'HMAC-SHA256 of node:crypto',
  check: 'check a request',
  verify: 'verify its signature',
};

async function measure({ scale, runs, samples }: Measurement<AnyScale>): Promise<void> {
  const server = checking();
  const requests = Array.from({ length: requestCount }, (_, index) => {
    const request = distinctRequest(index);
    const job = jobOf(request, server);
    return { request, job, text: stringToSign(job) };
  });
  let turn = 0;
  const next = (): (typeof requests)[number] => {
    const request = requests[turn++ % requestCount];
    assert(request !== undefined, 'there are requests to go through');
    return request;
  };
  const verifier = inlineVerifier;
  for (let run = 0; run < runs; run += 1) {
    const bench = new Bench({ ...plans[scale], throws: true, now: cpuMs })
      .add(
        rows.floor,
        inBatches(() => {
          const { job, text } = next();
          createHmac('sha256', job.signingKey).update(text).digest();
        }),
      )
      .add(
        rows.check,
        inBatches(() => assert(checkRequest(next().request, server).ok, 'the request is good')),
      )
      .add(
        rows.verify,
        inBatches(() => assert(verifier.verify(next().job) === 'valid', 'the signature is valid')),
      );
    for (const { name, result } of await bench.run()) {
      assert(result.state === 'completed', `${name} was measured`);
      samples.add(name, { us: (result.latency.mean / batchSize) * 1000 });
    }
  }
}

function inBatches(act: () => void): () => void {
  return () => {
    for (let done = 0; done < batchSize; done += 1) act();
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export const signatures: Benchmark = {
  title: 'Signatures',
  runs: 3,
  notes: [
    `${requestCount} distinct requests in turn, on one thread: the checks without a hash, and the verification with its derived key.`,
  ],
  columns: [{ metric: 'us', title: 'µs', digits: 2 }],
  targets: [
    {
      what: 'Verifying a signature, against the HMAC alone',
      row: rows.verify,
      metric: 'us',
      unit: 'µs',
      compared: ratioTo(rows.floor),
      bound: atMost(1.5),
    },
  ],
  watched: [
    {
      what: 'Verification of a signature',
      row: rows.verify,
      metric: 'us',
      unit: 'µs',
      peer: { row: rows.floor, metric: 'us' },
    },
  ],
  measure,
};
