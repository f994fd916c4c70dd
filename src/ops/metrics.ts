/**
 * What the house counts, as Prometheus reads it: base units, names of running.md, never a device id in a label.
 * Counting is on the hot path and allocates nothing; text is made at the scrape.
 */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { sleepEndReasons, sleepRefusals, type SleepEndReason, type SleepRefusal } from '../domain/sleep.ts';
import type { Telemetry, WakeupOutcomeLabel } from '../ports/telemetry.ts';
import { DurationSeries, exposeHistogramHead } from './duration-histogram.ts';
import { HttpDurations } from './http-durations.ts';
import { LabelTally } from './label-tally.ts';

const wakeupOutcomes: readonly WakeupOutcomeLabel[] = [
  'accepted',
  'repeated',
  'failed',
  'unknown',
  'refused',
];

/** The library's own that walk every descriptor or handle of the process: with a million sockets, a stall. */
const costlyAtScale: readonly string[] = [
  'process_open_fds',
  'nodejs_active_resources',
  'nodejs_active_resources_total',
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
];

const wakeupWriteName = 'reveille_wakeup_write_seconds';

export interface MetricSources {
  /** Sleep sessions open now. */
  sleepSessions(): number;
}

export class Metrics implements Telemetry {
  readonly #registry = new Registry();
  readonly #http = new HttpDurations();
  readonly #wakeupWrites = new DurationSeries();
  readonly #logins: LabelTally<'accepted' | SleepRefusal>;
  readonly #ends: LabelTally<SleepEndReason>;
  readonly #wakeups: LabelTally<WakeupOutcomeLabel>;
  readonly #authFailures: LabelTally<string>;

  constructor(sources: MetricSources) {
    const registry = this.#registry;
    collectDefaultMetrics({ register: registry });
    for (const name of costlyAtScale) registry.removeSingleMetric(name);
    void new Gauge({
      name: 'reveille_sleep_sessions',
      help: 'Sleep sessions open now.',
      registers: [registry],
      collect() {
        this.set(sources.sleepSessions());
      },
    });
    this.#logins = new LabelTally(
      registry,
      'reveille_sleep_logins_total',
      'Sleep logins by result.',
      'result',
      ['accepted', ...sleepRefusals],
    );
    this.#ends = new LabelTally(
      registry,
      'reveille_sleep_ends_total',
      'Ends of sleep sessions by reason.',
      'reason',
      sleepEndReasons,
    );
    this.#wakeups = new LabelTally(
      registry,
      'reveille_wakeups_total',
      'Wakeups by outcome.',
      'outcome',
      wakeupOutcomes,
    );
    this.#authFailures = new LabelTally(
      registry,
      'reveille_auth_failures_total',
      'Refused signatures by reason.',
      'reason',
      [],
    );
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The whole text of a scrape. */
  async expose(): Promise<string> {
    const writes = exposeHistogramHead(
      wakeupWriteName,
      'From the write of a wake packet to the kernel having it.',
    );
    return [
      await this.#registry.metrics(),
      this.#http.expose(),
      writes + this.#wakeupWrites.expose(wakeupWriteName, ''),
    ].join('\n');
  }

  httpRequest(route: string, status: number, code: number, seconds: number): void {
    this.#http.observe(route, status, code, seconds);
  }

  authFailure(reason: string): void {
    this.#authFailures.add(reason);
  }

  sleepLogin(result: 'accepted' | SleepRefusal): void {
    this.#logins.add(result);
  }

  sleepEnd(reason: SleepEndReason): void {
    this.#ends.add(reason);
  }

  wakeup(outcome: WakeupOutcomeLabel): void {
    this.#wakeups.add(outcome);
  }

  wakeupWrite(seconds: number): void {
    this.#wakeupWrites.observe(seconds);
  }
}
