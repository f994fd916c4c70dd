/**
 * Logs what NATS refuses, in one sentence each, and once: a line at every retry would hide the rest. No line holds a user,
 * a password or a token.
 */
import { errors } from '@nats-io/nats-core';
import type { Log } from '../../core/ports/log.ts';

/** Forbidden subjects logged; refusals of more of them are not. */
const subjectsMax = 64;

export class NatsComplaints {
  readonly #log: Log;
  readonly #subjects = new Set<string>();
  #unreachable = '';
  #stores = '';
  #error = '';

  constructor(log: Log) {
    this.#log = log;
  }

  unreachable(reason: string): void {
    if (reason === this.#unreachable) return;
    this.#unreachable = reason;
    this.#log.warn({ reason }, 'NATS cannot be reached, and is tried again');
  }

  /** There is a connection: what goes wrong from now on is logged anew. */
  reached(): void {
    this.#unreachable = '';
    this.#error = '';
  }

  storesRefused(reason: string): void {
    if (reason === this.#stores) return;
    this.#stores = reason;
    this.#log.error({ reason }, 'NATS has not made the streams of the cluster, and is asked again');
  }

  storesMade(): void {
    this.#stores = '';
  }

  error(error: Error): void {
    if (error instanceof errors.PermissionViolationError) this.#forbidden(error);
    else if (error.message !== this.#error) {
      this.#error = error.message;
      this.#log.error({ reason: error.message }, 'NATS has refused this node something');
    }
  }

  #forbidden({ operation, subject }: InstanceType<typeof errors.PermissionViolationError>): void {
    const key = `${operation} ${subject}`;
    if (this.#subjects.has(key) || this.#subjects.size >= subjectsMax) return;
    this.#subjects.add(key);
    const forbidden = operation === 'publish' ? 'publish to' : 'subscribe to';
    this.#log.error({ subject }, `the permissions of NATS do not let this node ${forbidden} ${subject}`);
  }
}
