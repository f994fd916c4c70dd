import { afterEach, beforeEach, test } from 'node:test';
import assert from 'node:assert/strict';
import {
  VerifierUnavailable,
  type SignatureVerifier,
} from '../../../../src/core/ports/signature-verifier.ts';
import {
  verifySignature,
  type SignatureJob,
  type SignatureVerdict,
} from '../../../../src/protocol/tgv1/signature.ts';
import { HmacPool, type HmacPoolOptions } from '../../../../src/gateways/verification/hmac-pool.ts';
import { inlineVerifier, LateVerifier } from '../../../../src/gateways/verification/late-verifier.ts';
import { moduleBeside } from '../../../../src/lib/module-worker.ts';
import { Gate, gateFailsVariable } from '../../../support/gate.ts';
import { distinctJobs, jobOf, signed } from '../../../support/signed-requests.ts';

/** Rejects if the verifier throws. */
function verdictOf(verifier: SignatureVerifier, job: SignatureJob): Promise<SignatureVerdict> {
  return new Promise((resolve) => {
    const verdict = verifier.verify(job, resolve);
    if (verdict !== 'later') resolve(verdict);
  });
}

const jobs = distinctJobs(64);
const gatedWorker = moduleBeside('../../../support/gated-worker', import.meta.url);

let gate: Gate;
let pool: HmacPool;
let started: HmacPool[];
let faults: unknown[];
let faulted: () => void;

beforeEach(() => {
  gate = new Gate();
  started = [];
  faults = [];
  faulted = () => {};
});

afterEach(async () => {
  delete process.env[gateFailsVariable];
  for (const pool of started) await pool.close();
  gate.close();
});

function onFault(error: unknown): void {
  faults.push(error);
  faulted();
}

async function startPool(options: Partial<HmacPoolOptions> = {}): Promise<void> {
  pool = await HmacPool.start({ threads: 1, onFault, crossingJobsMin: 1, ...options });
  started.push(pool);
}

function startGated(options: Partial<HmacPoolOptions> = {}): Promise<void> {
  return startPool({ workerFile: gatedWorker, ...options });
}

/** All of them in this turn. */
function verifyAll(asked: readonly SignatureJob[]): Promise<SignatureVerdict[]> {
  return Promise.all(asked.map((job) => verdictOf(pool, job)));
}

/** The `count` jobs from `from` on. */
function ask(from: number, count: number): Promise<SignatureVerdict[]> {
  return verifyAll(jobs.slice(from, from + count));
}

function allValid(count: number): SignatureVerdict[] {
  return Array.from({ length: count }, () => 'valid');
}

/** Resolves when the callbacks that end this turn of the event loop have run. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

async function untilFaults(count: number): Promise<void> {
  while (faults.length < count) {
    await new Promise<void>((resolve) => {
      faulted = resolve;
    });
  }
}

/** A job spoiled by its index in a way that yields each verdict. */
function spoiled(job: SignatureJob, index: number): SignatureJob {
  switch (index % 7) {
    case 0:
      return { ...job, body: Buffer.alloc(index * 97, index) };
    case 1:
      return { ...job, signature: job.signature.toUpperCase() };
    case 2:
      return { ...job, canonicalRequest: `${job.canonicalRequest}é\u{1f600}` };
    case 3:
      return { ...job, signature: `é${job.signature.slice(1)}` };
    case 4:
      return { ...job, bodySha256: index % 2 === 0 ? '' : 'é'.repeat(64) };
    default:
      return job;
  }
}

test('workers and the main thread compute the same verdicts', async () => {
  await startPool({ threads: 2, batchJobsMax: 64 });
  const body = Buffer.alloc(64 * 1024, 'x');
  const asked = [
    ...distinctJobs(500).map(spoiled),
    jobOf(signed({ method: 'PUT', path: '/v1/门铃', rawQuery: '', body })),
    jobOf(signed({ rawQuery: 'device_id=门铃+\u{1f600}é' })),
  ];

  const verdicts = await verifyAll(asked);

  assert.deepEqual(verdicts, asked.map(verifySignature));
  assert.equal(new Set(verdicts).size, 3);
  assert.deepEqual(faults, []);
});

test('the jobs of one turn are one task', async () => {
  await startGated();
  const verdicts = ask(0, 20);
  await gate.untilHeld(1);
  gate.order('go');

  assert.deepEqual(await verdicts, allValid(20));
  assert.equal(gate.batchesHeld, 1);
});

test('while every thread is busy, the following turns are collected in one task', async () => {
  await startGated();
  const first = ask(0, 1);
  await gate.untilHeld(1);
  const second = ask(1, 1);
  await gate.untilHeld(2);
  const third = ask(2, 1);
  await turn();
  const fourth = ask(3, 1);
  await turn();
  assert.equal(gate.batchesHeld, 2);

  gate.order('go');
  assert.deepEqual(await Promise.all([first, second]), [['valid'], ['valid']]);
  await gate.untilHeld(3);
  gate.order('go');

  assert.deepEqual(await Promise.all([third, fourth]), [['valid'], ['valid']]);
  assert.equal(gate.batchesHeld, 3);
});

test('a batch too small to be worth a message is verified on the main thread', async () => {
  await startGated({ crossingJobsMin: 4 });

  assert.deepEqual(await ask(0, 3), allValid(3));
  assert.equal(gate.batchesHeld, 0);
});

test('a batch with one job goes to a worker if its body is large', async () => {
  await startGated({ crossingJobsMin: 4, crossingBytesMin: 1024 });
  const body = Buffer.alloc(1024, 'x');
  const verdict = verdictOf(pool, jobOf(signed({ method: 'POST', body })));
  await gate.untilHeld(1);
  gate.order('go');

  assert.equal(await verdict, 'valid');
});

test('a job larger than a batch is verified at once', async () => {
  await startGated({ batchBytesMax: 2048 });
  const body = Buffer.alloc(2048, 'x');

  assert.equal(pool.verify(jobOf(signed({ method: 'POST', body })), assert.fail), 'valid');
});

test('while every batch is in flight the next job is refused as full, and accepted again afterwards', async () => {
  await startGated({ batches: 2, batchJobsMax: 2 });
  const accepted = ask(0, 4);
  await assert.rejects(ask(4, 1), (error) => error instanceof VerifierUnavailable && error.reason === 'full');
  await gate.untilHeld(2);
  gate.order('go');

  assert.deepEqual(await accepted, allValid(4));
  const after = ask(5, 1);
  await gate.untilHeld(3);
  gate.order('go');
  assert.deepEqual(await after, ['valid']);
});

test('closing waits for accepted jobs, sent or not, and refuses further ones', async () => {
  await startGated();
  const sent = ask(0, 20);
  await gate.untilHeld(1);
  const collected = ask(20, 20);
  const closed = pool.close();

  await assert.rejects(
    () => verdictOf(pool, jobs[0] ?? assert.fail()),
    (error) => error instanceof VerifierUnavailable && error.reason === 'closed',
  );
  await gate.untilHeld(2);
  gate.order('go');
  assert.deepEqual(await Promise.all([sent, collected]), [allValid(20), allValid(20)]);
  await closed;
  await pool.close();
});

for (const order of ['die', 'throw'] as const) {
  test(`after a worker is made to ${order} during a batch, every job gets its verdict, and the pool continues`, async () => {
    await startGated();
    const verdicts = ask(0, 20);
    await gate.untilHeld(1);
    gate.order(order);

    assert.deepEqual(await verdicts, allValid(20));
    assert.equal(faults.length, 1);
    const after = ask(20, 20);
    await gate.untilHeld(2);
    gate.order('go');
    assert.deepEqual(await after, allValid(20));
    assert.equal(faults.length, 1);
  });
}

test('if no worker can be started any more, the main thread verifies', async () => {
  await startGated();
  const held = ask(0, 20);
  await gate.untilHeld(1);
  process.env[gateFailsVariable] = '1';
  gate.order('die');
  assert.deepEqual(await held, allValid(20));
  await untilFaults(2);

  assert.deepEqual(await ask(20, 20), allValid(20));
  assert.equal(gate.batchesHeld, 1);
});

test('jobs queued for a worker that then cannot be started are verified on the main thread', async () => {
  await startGated();
  const held = ask(0, 20);
  await gate.untilHeld(1);
  process.env[gateFailsVariable] = '1';
  gate.order('die');
  assert.deepEqual(await held, allValid(20));

  assert.deepEqual(await ask(20, 20), allValid(20));
  assert.equal(gate.batchesHeld, 1);
});

test('a pool whose task cannot be loaded does not start', async () => {
  process.env[gateFailsVariable] = '1';

  await assert.rejects(startGated());
});

test('the inline verifier answers at once', async () => {
  const verifier = inlineVerifier;
  const job = jobOf(signed());

  assert.equal(verifier.verify(job), 'valid');
  assert.equal(verifier.verify({ ...job, signature: '0'.repeat(64) }), 'signature-mismatch');
  await verifier.close();
});

test('a late verifier answers at once, and later by the threads that it was given', async () => {
  const verifier = new LateVerifier();
  const job = jobOf(signed());
  assert.equal(verifier.verify(job, assert.fail), 'valid');

  const opening = HmacPool.start({ threads: 1, onFault, crossingJobsMin: 1 });
  verifier.begin(() => opening, onFault);
  assert.equal(verifier.verify(job, assert.fail), 'valid');
  started.push(await opening);
  await turn();

  assert.equal(
    verifier.verify(job, () => undefined),
    'later',
  );
  assert.equal(await verdictOf(verifier, { ...job, signature: '0'.repeat(64) }), 'signature-mismatch');
  await verifier.close();
  assert.throws(() => verifier.verify(job, assert.fail), VerifierUnavailable);
});

test('a late verifier whose threads do not start reports it, and answers at once', async () => {
  const verifier = new LateVerifier();
  verifier.begin(() => Promise.reject(new Error('no thread')), onFault);
  await untilFaults(1);

  assert.equal(verifier.verify(jobOf(signed()), assert.fail), 'valid');
  await verifier.close();
});
