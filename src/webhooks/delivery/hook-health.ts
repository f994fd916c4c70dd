/**
 * Health of one hook's endpoint: circuit breaker, switched-off state, log lines and counters. After several consecutive
 * failures the circuit opens: single probes follow at growing intervals, and the first delivery closes it.
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

  get failures(): number {
    return this.#failures;
  }

  /** Monotonic milliseconds of the next probe; null: one is pending. Only valid while the circuit is open. */
  get probeAtMs(): number | null {
    return this.#isProbing ? null : this.#probeAtMs;
  }

  mayProbe(nowMs: number): boolean {
    return this.#isOpen && !this.#isProbing && nowMs >= this.#probeAtMs;
  }

  beginProbe(): void {
    this.#isProbing = true;
  }

  /** Closes the circuit. True: it was open. */
  succeed(): boolean {
    const wasOpen = this.#isOpen;
    this.#failures = 0;
    this.#isOpen = false;
    this.#isProbing = false;
    this.#probes = 0;
    return wasOpen;
  }

  /** True: this failure opens the circuit. Late failures of attempts from before that are not counted as probes. */
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

  /** Allows a probe at once, on an operator's request. */
  probeNow(nowMs: number): void {
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

/** The part of a hook's record that depends on the responses of its endpoint. */
export function standingOf({ switchedOff, lastSuccessAtMs, lastFailure }: HookRecord): HookStanding {
  return { switchedOff, lastSuccessAtMs, lastFailure };
}

/** Fingerprint of a hook's secret: a new secret means a new receiver. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export interface HookLoggerDeps {
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, 'webhookDelivery'>;
}

/** Counters, and a log line per change of the hook's state, not per attempt. */
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

  /** `hadRoom` false: the oldest parked event was dropped. */
  parked({ id }: LoggedEvent, { status, reason }: DeliveryFailure, hadRoom: boolean): void {
    this.#telemetry.webhookDelivery('parked');
    const message = hadRoom
      ? 'webhook: event parked'
      : 'webhook: event parked; the oldest parked one dropped: too many';
    this.#log.warn({ ...this.#name, event_id: id, status, reason }, message);
  }

  /** `events`: count over all applications. */
  lost(events: number): void {
    this.#telemetry.webhookDelivery('lost', events);
    this.#log.warn({ ...this.#name, events }, 'webhook: events expired from the log before they were read');
  }

  missing(sequence: number): void {
    this.#telemetry.webhookDelivery('lost');
    this.#log.error({ ...this.#name, sequence }, 'webhook: failed event not found in the store');
  }
}
