import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  allocateHmacBatch,
  fitsHmacBatch,
  HmacBatch,
} from '../../../../src/gateways/verification/hmac-batch.ts';
import { distinctJobs, jobOf, signed } from '../../../support/signed-requests.ts';

const jobs = distinctJobs(8);

function add(batch: HmacBatch, index: number): boolean {
  return batch.add(jobs[index] ?? assert.fail());
}

test('verdicts written on one side of the memory are read on the other', () => {
  const memory = allocateHmacBatch(8, 64 * 1024);
  const here = new HmacBatch(memory);
  const there = new HmacBatch(memory);
  add(here, 0);
  here.add(jobOf(signed({ method: 'POST', body: Buffer.from('{"device_id":"门铃-01"}') })));
  here.add({ ...jobOf(signed()), signature: '0'.repeat(64) });
  here.add({ ...jobOf(signed()), body: Buffer.from('{}') });

  assert.equal(there.jobs, 4);
  there.verify();

  assert.deepEqual(
    [0, 1, 2, 3].map((index) => here.verdict(index)),
    ['valid', 'valid', 'signature-mismatch', 'body-hash-mismatch'],
  );
});

test('a batch accepts no more jobs than it has rows', () => {
  const batch = new HmacBatch(allocateHmacBatch(2, 64 * 1024));

  assert.deepEqual([add(batch, 0), add(batch, 1), add(batch, 2)], [true, true, false]);
  assert.equal(batch.jobs, 2);
});

test('a batch rejects a job whose bytes do not fit, and is unchanged', () => {
  const batch = new HmacBatch(allocateHmacBatch(8, 4096));
  assert.ok(add(batch, 0));
  const { bytes } = batch;

  assert.equal(batch.add(jobOf(signed({ method: 'POST', body: Buffer.alloc(3000) }))), false);
  assert.equal(batch.bytes, bytes);
  batch.verify();
  assert.equal(batch.verdict(0), 'valid');
});

test('a cleared batch is empty, and keeps nothing of the old jobs', () => {
  const batch = new HmacBatch(allocateHmacBatch(1, 4096));
  add(batch, 0);
  batch.clear();

  assert.deepEqual([batch.jobs, batch.bytes], [0, 0]);
  assert.throws(() => batch.verdict(0), /a verdict is read of a job that has one/);
  assert.ok(add(batch, 1));
});

test('a job fits a batch if its hashes have the right length and the rest has room', () => {
  const job = jobOf(signed({ method: 'POST', body: Buffer.alloc(1000) }));

  assert.ok(fitsHmacBatch(job, 4096));
  assert.ok(!fitsHmacBatch(job, 2048));
  assert.ok(!fitsHmacBatch({ ...job, signature: 'short' }, 4096));
  assert.ok(!fitsHmacBatch({ ...job, bodySha256: '' }, 4096));
});
