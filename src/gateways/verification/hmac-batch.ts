/**
 * A batch of signature jobs in one block of shared memory, which is everything exchanged between the main thread and a verifying
 * worker. The main thread adds jobs, a worker (or the main thread itself) writes a verdict for each, and the main thread reads
 * the verdicts. A message passes ownership.
 *
 *     word 0          number of jobs
 *     words 1..       one row per job: offset of its bytes, then the lengths of head, canonical request, body
 *     then            one verdict byte per job
 *     then            the bytes of each job: signing key (32), head, canonical request, body
 *
 * The head is the prefix of the string to sign, the signature and the body hash, the last two 64 bytes each.
 */
import { assert } from '../../lib/assert.ts';
import {
  verifySignature,
  type SignatureEvidence,
  type SignatureJob,
  type SignatureVerdict,
} from '../../protocol/tgv1/signature.ts';

const verdicts = ['valid', 'body-hash-mismatch', 'signature-mismatch'] as const;

const wordBytes = Uint32Array.BYTES_PER_ELEMENT;
const rowWords = 4;
const keyBytes = 32;
const hexBytes = 64;
const utf8BytesPerUnitMax = 3;

/** The shared memory of one batch, and its number of rows. */
export interface HmacBatchMemory {
  readonly memory: SharedArrayBuffer;
  readonly jobsMax: number;
}

/** `bytesMax`: maximum size of the jobs' bytes; rows and verdicts are added. */
export function allocateHmacBatch(jobsMax: number, bytesMax: number): HmacBatchMemory {
  return { memory: new SharedArrayBuffer(payloadOffset(jobsMax) + bytesMax), jobsMax };
}

function verdictOffset(jobsMax: number): number {
  return (1 + jobsMax * rowWords) * wordBytes;
}

function payloadOffset(jobsMax: number): number {
  return verdictOffset(jobsMax) + jobsMax;
}

/** True: an empty batch could hold the job, and its two hashes have the right length. */
export function fitsHmacBatch(job: SignatureJob, bytesMax: number): boolean {
  if (job.signature.length !== hexBytes || job.bodySha256.length !== hexBytes) return false;
  return jobBytesMax(job) <= bytesMax;
}

/** Upper bound of a job's size before its text is encoded. */
function jobBytesMax(job: SignatureJob): number {
  const units = job.toSignPrefix.length + hexBytes + hexBytes + job.canonicalRequest.length;
  return keyBytes + units * utf8BytesPerUnitMax + (job.body?.length ?? 0);
}

export class HmacBatch {
  readonly #words: Uint32Array;
  readonly #bytes: Buffer;
  readonly #jobsMax: number;
  /** Offset of the next job's bytes, used by the main thread only. */
  #end: number;

  constructor({ memory, jobsMax }: HmacBatchMemory) {
    this.#words = new Uint32Array(memory, 0, 1 + jobsMax * rowWords);
    this.#bytes = Buffer.from(memory);
    this.#jobsMax = jobsMax;
    this.#end = payloadOffset(jobsMax);
  }

  get jobs(): number {
    return this.#words[0] ?? 0;
  }

  /** Total size of the jobs' bytes, a measure of the hashing cost. */
  get bytes(): number {
    return this.#end - payloadOffset(this.#jobsMax);
  }

  /** False: the job does not fit and the batch is unchanged. Requires `fitsHmacBatch`. */
  add(job: SignatureJob): boolean {
    const index = this.jobs;
    if (index === this.#jobsMax || jobBytesMax(job) > this.#bytes.length - this.#end) return false;
    const start = this.#end;
    this.#bytes.set(job.signingKey, start);
    const headAt = start + keyBytes;
    const head = this.#bytes.write(job.toSignPrefix + job.signature + job.bodySha256, headAt);
    const canonical = this.#bytes.write(job.canonicalRequest, headAt + head);
    const bodyAt = headAt + head + canonical;
    if (job.body !== null) this.#bytes.set(job.body, bodyAt);
    const body = job.body?.length ?? 0;

    const row = 1 + index * rowWords;
    this.#words[row] = start;
    this.#words[row + 1] = head;
    this.#words[row + 2] = canonical;
    this.#words[row + 3] = body;
    this.#words[0] = index + 1;
    this.#end = bodyAt + body;
    return true;
  }

  verify(): void {
    const verdictAt = verdictOffset(this.#jobsMax);
    for (let index = 0; index < this.jobs; index++)
      this.#bytes[verdictAt + index] = verdicts.indexOf(verifySignature(this.#evidence(index)));
  }

  verdict(index: number): SignatureVerdict {
    const verdict = verdicts[this.#bytes[verdictOffset(this.#jobsMax) + index] ?? -1];
    assert(index < this.jobs && verdict !== undefined, 'a verdict is read of a job that has one');
    return verdict;
  }

  clear(): void {
    this.#words[0] = 0;
    this.#end = payloadOffset(this.#jobsMax);
  }

  #evidence(index: number): SignatureEvidence {
    const row = 1 + index * rowWords;
    const [start = 0, head = 0, canonical = 0, body = 0] = this.#words.subarray(row, row + rowWords);
    const headAt = start + keyBytes;
    const canonicalAt = headAt + head;
    const bodyAt = canonicalAt + canonical;
    const signatureAt = canonicalAt - hexBytes - hexBytes;
    return {
      signingKey: this.#bytes.subarray(start, headAt),
      toSignPrefix: this.#bytes.toString('utf8', headAt, signatureAt),
      signature: this.#bytes.toString('latin1', signatureAt, signatureAt + hexBytes),
      bodySha256: this.#bytes.toString('latin1', signatureAt + hexBytes, canonicalAt),
      canonicalRequest: this.#bytes.subarray(canonicalAt, bodyAt),
      body: this.#bytes.subarray(bodyAt, bodyAt + body),
    };
  }
}
