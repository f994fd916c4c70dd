/**
 * Request bodies with an unverified signature, limited in total size, so that large bodies with wrong signatures leave memory and
 * verifiers to other requests. Addresses take turns at the verifiers; when the pool is full, it evicts the oldest body of the
 * address with the most.
 */
import { addressKey } from '../../lib/connections/address-key.ts';
import { Crowd } from '../../lib/connections/crowd.ts';

export interface UnprovedBodiesLimits {
  readonly bytesMax: number;
  /** Maximum total size of the bodies being verified, bytes. */
  readonly verifyingBytesMax: number;
}

export interface UnprovedBody {
  readonly address: string;
  readonly bytes: number;
  /** Answers its request without a verdict. */
  readonly refuse: () => void;
  verify: () => void;
  state: 'reading' | 'waiting' | 'verifying' | 'over';
}

export class UnprovedBodies {
  readonly #limits: UnprovedBodiesLimits;
  /** Bodies being read or waiting for a verifier. */
  readonly #crowd = new Crowd<UnprovedBody>();
  /** Bodies waiting for a verifier, by address. */
  readonly #lines = new Map<string, Set<UnprovedBody>>();
  #bytes = 0;
  #verifyingBytes = 0;
  #isScheduled = false;

  constructor(limits: UnprovedBodiesLimits) {
    this.#limits = limits;
  }

  /** Reserves `bytes`, which must be below the limit; evicts others if necessary. */
  enter(remoteAddress: string, bytes: number, refuse: () => void): UnprovedBody {
    while (this.#bytes + bytes > this.#limits.bytesMax && this.evict());
    const address = addressKey(remoteAddress);
    const body: UnprovedBody = { address, bytes, refuse, verify: () => undefined, state: 'reading' };
    this.#bytes += bytes;
    this.#crowd.add(address, body);
    return body;
  }

  /** Calls `verify` when it is the body's turn, possibly at once. The body is complete. */
  await(body: UnprovedBody, verify: () => void): void {
    if (body.state !== 'reading') return;
    body.state = 'waiting';
    body.verify = verify;
    const line = this.#lines.get(body.address) ?? new Set();
    this.#lines.set(body.address, line.add(body));
    this.#advance();
  }

  /** Releases the reservation after the verdict or a disconnect. A second call does nothing. */
  leave(body: UnprovedBody): void {
    if (body.state === 'over') return;
    if (body.state === 'verifying') this.#verifyingBytes -= body.bytes;
    if (body.state === 'waiting') this.#leaveLine(body);
    body.state = 'over';
    this.#bytes -= body.bytes;
    this.#crowd.delete(body.address, body);
    if (!this.#isScheduled && this.#lines.size > 0) setImmediate(this.#advance);
    this.#isScheduled ||= this.#lines.size > 0;
  }

  /** Refuses the oldest body of the address with the most; false: there is none. */
  evict(): boolean {
    const body = this.#crowd.evict();
    if (body === null) return false;
    this.leave(body);
    // Not within the handler of another request.
    setImmediate(body.refuse);
    return true;
  }

  readonly #advance = (): void => {
    this.#isScheduled = false;
    for (const line of this.#lines.values()) {
      const [body] = line;
      if (body === undefined || this.#verifyingBytes >= this.#limits.verifyingBytesMax) return;
      this.#leaveLine(body);
      this.#begin(body);
    }
  };

  /** Moves the line of its address to the end, if others wait in it. */
  #leaveLine(body: UnprovedBody): void {
    const line = this.#lines.get(body.address);
    this.#lines.delete(body.address);
    line?.delete(body);
    if (line !== undefined && line.size > 0) this.#lines.set(body.address, line);
  }

  #begin(body: UnprovedBody): void {
    body.state = 'verifying';
    this.#verifyingBytes += body.bytes;
    this.#crowd.delete(body.address, body);
    body.verify();
  }
}
