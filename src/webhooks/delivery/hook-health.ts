/**
 * The health of one hook's endpoint: a circuit breaker, whether it is switched off, and what operators are told of it.
 * After some failures in a row the circuit is open: one attempt at a time asks whether the endpoint is back, further and
 * further apart, and the first that is delivered closes it.
 */
import { createHash } from 'node:crypto';
import type { RetrySchedule } from './limits.ts';
import type { DeliveryFailure, HookRecord } from '../../core/ports/delivery-store.ts';
import type { LoggedEvent } from '../../model/events.ts';
import { maskUrl, type Webhook } from '../../model/registry.ts';
import type { Log } from '../../lib/log.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';

export class Circuit {
  readonly #failuresMax: number;
  readonly #schedule: RetrySchedule;
  #failures = 0;
  #isOpen = false;
  #isProbing = false;
  #probes = 0;
  #probeAtMs = 0;

  constructor(failuresMax: number, schedule: RetrySchedule) {
    this.#failuresMax = failuresMax;
    this.#schedule = schedule;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** In a row, up to now. */
  get failures(): number {
    return this.#failures;
  }

  /** Monotonic milliseconds of the next probe; null: one is under way. Only while it is open. */
  get probeAtMs(): number | null {
    return this.#isProbing ? null : this.#probeAtMs;
  }

  mayProbe(nowMs: number): boolean {
    return this.#isOpen && !this.#isProbing && nowMs >= this.#probeAtMs;
  }

  beginProbe(): void {
    this.#isProbing = true;
  }

  /** True when it was open. */
  succeed(): boolean {
    const wasOpen = this.#isOpen;
    this.#failures = 0;
    this.#isOpen = false;
    this.#isProbing = false;
    this.#probes = 0;
    return wasOpen;
  }

  /** True when it opens by this. A late failure of an attempt from before it opened says nothing new. */
  fail(nowMs: number, isProbe: boolean): boolean {
    this.#failures += 1;
    if (this.#isOpen) {
      if (isProbe) this.#waitForProbe(nowMs, this.#probes + 1);
      return false;
    }
    this.#isOpen = this.#failures >= this.#failuresMax;
    if (this.#isOpen) this.#waitForProbe(nowMs, 0);
    return this.#isOpen;
  }

  /** Somebody says that the endpoint is worth asking now. */
  hasten(nowMs: number): void {
    this.#probes = 0;
    this.#probeAtMs = nowMs;
  }

  #waitForProbe(nowMs: number, probes: number): void {
    this.#isProbing = false;
    this.#probes = probes;
    this.#probeAtMs = nowMs + this.#schedule.probeDelayMs(probes);
  }
}

type HookStanding = {
  -readonly [Key in 'switchedOff' | 'lastSuccessAtMs' | 'lastFailure']: HookRecord[Key];
};

/** The part of a hook's record that the answers of its endpoint decide. */
export function standingOf({ switchedOff, lastSuccessAtMs, lastFailure }: HookRecord): HookStanding {
  return { switchedOff, lastSuccessAtMs, lastFailure };
}

/** Identifies a hook's secret: a receiver that was given a new one is a new receiver. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export interface HookLoggerDeps {
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, 'webhookDelivery'>;
}

/** Counts, and a line where the hook's state changes, never one an attempt. */
export class HookLogger {
  readonly #log: Log;
  readonly #telemetry: HookLoggerDeps['telemetry'];
  readonly #name: { readonly app_id: string; readonly url: string };

  constructor({ appId, url }: Webhook, { log, telemetry }: HookLoggerDeps) {
    this.#log = log;
    this.#telemetry = telemetry;
    this.#name = { app_id: appId, url: maskUrl(url) };
  }

  count(result: 'delivered' | 'failed' | 'gone'): void {
    this.#telemetry.webhookDelivery(result);
  }

  circuitOpened({ status, reason }: DeliveryFailure): void {
    this.#log.warn({ ...this.#name, status, reason }, 'webhook: fails; sending one event at a time');
  }

  circuitClosed(): void {
    this.#log.info(this.#name, 'webhook: answers again');
  }

  switchedOff({ status }: DeliveryFailure): void {
    this.#log.warn({ ...this.#name, status }, 'webhook: switched off by its receiver');
  }

  /** `hadRoom` false: the oldest of the parked was dropped for it. */
  parked({ id }: LoggedEvent, { status, reason }: DeliveryFailure, hadRoom: boolean): void {
    this.#telemetry.webhookDelivery('parked');
    const message = hadRoom
      ? 'webhook: event parked'
      : 'webhook: event parked; the oldest parked one dropped: too many';
    this.#log.warn({ ...this.#name, event_id: id, status, reason }, message);
  }

  /** So many of the log's events, for whomever they were. */
  lost(events: number): void {
    this.#telemetry.webhookDelivery('lost', events);
    this.#log.warn({ ...this.#name, events }, 'webhook: events expired from the log before they were read');
  }

  missing(sequence: number): void {
    this.#telemetry.webhookDelivery('lost');
    this.#log.error({ ...this.#name, sequence }, 'webhook: failed event not found in the store');
  }
}
