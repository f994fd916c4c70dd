/**
 * What the house counts, as Prometheus reads it: base units, names of running.md, never a device id in a label.
 * Counting is on the hot path and allocates nothing; text is made at the scrape.
 */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { eventTypes, type EventType } from '../domain/events.ts';
import {
  signalEndReasons,
  signalRefusals,
  type SignalEndReason,
  type SignalRefusal,
} from '../domain/signal.ts';
import { sleepEndReasons, sleepRefusals, type SleepEndReason, type SleepRefusal } from '../domain/sleep.ts';
import {
  messageOutcomeLabels,
  wakeupOutcomeLabels,
  webhookResultLabels,
  type MessageOutcomeLabel,
  type Telemetry,
  type WakeupOutcomeLabel,
  type WebhookResultLabel,
} from '../ports/telemetry.ts';
import { DurationSeries, exposeHistogramHead, wakingBoundsS } from './duration-histogram.ts';
import { HttpDurations } from './http-durations.ts';
import { LabelTally } from './label-tally.ts';

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

/** What is asked for at a scrape. */
export interface MetricSources {
  /** Sleep sessions open now. */
  sleepSessions(): number;
  /** Signal sessions open now. */
  signalSessions(): number;
}

export class Metrics implements Telemetry {
  readonly #registry = new Registry();
  readonly #http = new HttpDurations();
  readonly #wakeupWrites = new DurationSeries();
  readonly #wakeupsToOnline = new DurationSeries(wakingBoundsS);
  readonly #sleepLogins: LabelTally<'accepted' | SleepRefusal>;
  readonly #sleepEnds: LabelTally<SleepEndReason>;
  readonly #signalLogins: LabelTally<'accepted' | SignalRefusal>;
  readonly #signalEnds: LabelTally<SignalEndReason>;
  readonly #wakeups: LabelTally<WakeupOutcomeLabel>;
  readonly #messages: LabelTally<MessageOutcomeLabel>;
  readonly #events: LabelTally<EventType>;
  readonly #webhookDeliveries: LabelTally<WebhookResultLabel>;
  readonly #authFailures: LabelTally<string>;

  constructor(sources: MetricSources) {
    const registry = this.#registry;
    collectDefaultMetrics({ register: registry });
    for (const name of costlyAtScale) registry.removeSingleMetric(name);
    this.#gauge('reveille_sleep_sessions', 'Sleep sessions open now.', () => sources.sleepSessions());
    this.#gauge('reveille_signal_sessions', 'Signal sessions open now.', () => sources.signalSessions());
    this.#sleepLogins = this.#tally('reveille_sleep_logins_total', 'Sleep logins by result.', 'result', [
      'accepted',
      ...sleepRefusals,
    ]);
    this.#sleepEnds = this.#tally(
      'reveille_sleep_ends_total',
      'Ends of sleep sessions by reason.',
      'reason',
      sleepEndReasons,
    );
    this.#signalLogins = this.#tally('reveille_signal_logins_total', 'Signal logins by result.', 'result', [
      'accepted',
      ...signalRefusals,
    ]);
    this.#signalEnds = this.#tally(
      'reveille_signal_ends_total',
      'Ends of signal sessions by reason.',
      'reason',
      signalEndReasons,
    );
    this.#wakeups = this.#tally(
      'reveille_wakeups_total',
      'Wakeups by outcome.',
      'outcome',
      wakeupOutcomeLabels,
    );
    this.#messages = this.#tally(
      'reveille_messages_total',
      'Messages to devices by outcome.',
      'outcome',
      messageOutcomeLabels,
    );
    this.#events = this.#tally('reveille_events_total', 'Events committed to the log.', 'type', eventTypes);
    this.#webhookDeliveries = this.#tally(
      'reveille_webhook_deliveries_total',
      'Webhook attempts and ends by result.',
      'result',
      webhookResultLabels,
    );
    this.#authFailures = this.#tally(
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
    return [
      await this.#registry.metrics(),
      this.#http.expose(),
      exposeSeries(
        'reveille_wakeup_write_seconds',
        'From the write of a wake packet to the kernel having it.',
        this.#wakeupWrites,
      ),
      exposeSeries(
        'reveille_wakeup_to_online_seconds',
        'From the accepted write of a wakeup to the signal login that completed it.',
        this.#wakeupsToOnline,
      ),
    ].join('\n');
  }

  httpRequest(route: string, status: number, code: number, seconds: number): void {
    this.#http.observe(route, status, code, seconds);
  }

  authFailure(reason: string): void {
    this.#authFailures.add(reason);
  }

  sleepLogin(result: 'accepted' | SleepRefusal): void {
    this.#sleepLogins.add(result);
  }

  sleepEnd(reason: SleepEndReason): void {
    this.#sleepEnds.add(reason);
  }

  signalLogin(result: 'accepted' | SignalRefusal): void {
    this.#signalLogins.add(result);
  }

  signalEnd(reason: SignalEndReason): void {
    this.#signalEnds.add(reason);
  }

  wakeup(outcome: WakeupOutcomeLabel): void {
    this.#wakeups.add(outcome);
  }

  wakeupWrite(seconds: number): void {
    this.#wakeupWrites.observe(seconds);
  }

  wakeupToOnline(seconds: number): void {
    this.#wakeupsToOnline.observe(seconds);
  }

  message(outcome: MessageOutcomeLabel): void {
    this.#messages.add(outcome);
  }

  event(type: EventType): void {
    this.#events.add(type);
  }

  webhookDelivery(result: WebhookResultLabel, count: number): void {
    this.#webhookDeliveries.add(result, count);
  }

  #gauge(name: string, help: string, read: () => number): void {
    void new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  #tally<Label extends string>(
    name: string,
    help: string,
    labelName: string,
    known: readonly Label[],
  ): LabelTally<Label> {
    return new LabelTally(this.#registry, name, help, labelName, known);
  }
}

function exposeSeries(name: string, help: string, series: DurationSeries): string {
  return exposeHistogramHead(name, help) + series.expose(name, '');
}
