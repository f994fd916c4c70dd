/** How a hook has fared, and whether it is switched off: what is kept of it beside its cursor and its events. */
import { createHash } from 'node:crypto';
import type { DeliveryFailure, HookRecord, SwitchedOff } from '../../core/ports/delivery-store.ts';

export class HookStanding {
  #switchedOff: SwitchedOff | null;
  #lastSuccessAtMs: number | null;
  #lastFailure: DeliveryFailure | null;
  constructor(record: HookRecord) {
    this.#switchedOff = record.switchedOff;
    this.#lastSuccessAtMs = record.lastSuccessAtMs;
    this.#lastFailure = record.lastFailure;
  }

  get isOff(): boolean {
    return this.#switchedOff !== null;
  }

  succeed(atMs: number): void {
    this.#lastSuccessAtMs = atMs;
  }

  fail(failure: DeliveryFailure): void {
    this.#lastFailure = failure;
  }

  switchOff(atMs: number, secret: string): void {
    this.#switchedOff = { atMs, secretSha256: sha256(secret) };
  }

  switchOn(): void {
    this.#switchedOff = null;
  }

  /** A receiver that was given a new secret is a new receiver. */
  isOffForAnother(secret: string): boolean {
    return this.#switchedOff !== null && this.#switchedOff.secretSha256 !== sha256(secret);
  }

  record(): Pick<HookRecord, 'switchedOff' | 'lastSuccessAtMs' | 'lastFailure'> {
    return {
      switchedOff: this.#switchedOff,
      lastSuccessAtMs: this.#lastSuccessAtMs,
      lastFailure: this.#lastFailure,
    };
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
