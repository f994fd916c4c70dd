/**
 * What the house counts, as Prometheus reads it: base units, names of running.md, never a device id in a label.
 * Counting is on the hot path and allocates nothing; text is made at the scrape.
 */
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { CallEndReason, LegRefusal } from '../model/call.ts';
import type { EventType } from '../model/events.ts';
import type { MediaFrameResult } from '../model/picture.ts';
import type { SignalEndReason, SignalRefusal } from '../model/signal.ts';
import type { SleepEndReason, SleepRefusal } from '../model/sleep.ts';
import type {
  BridgeAnswerLabel,
  CallReportLabel,
  CredentialsOutcomeLabel,
  MessageOutcomeLabel,
  PeerAskLabel,
  SlotLabel,
  Telemetry,
  WakeupOutcomeLabel,
  WebhookResultLabel,
} from './telemetry.ts';
import { DurationSeries, exposeHistogramHead, wakingBoundsS } from './duration-histogram.ts';
import { HttpDurations } from './http-durations.ts';
import { registerClusterGauges, registerGauges, type MetricSources } from './metric-gauges.ts';
import { registerTallies, type MetricTallies } from './metric-tallies.ts';

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

export class Metrics implements Telemetry {
  readonly #registry = new Registry();
  readonly #http = new HttpDurations();
  readonly #wakeupWrites = new DurationSeries();
  readonly #wakeupsToOnline = new DurationSeries(wakingBoundsS);
  readonly #mediaFrameTimes = new DurationSeries();
  readonly #peerAsks = new DurationSeries();
  readonly #tallies: MetricTallies;

  constructor(sources: MetricSources) {
    const registry = this.#registry;
    collectDefaultMetrics({ register: registry });
    for (const name of costlyAtScale) registry.removeSingleMetric(name);
    registerGauges(registry, sources);
    registerClusterGauges(registry, sources);
    this.#tallies = registerTallies(registry);
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
      exposeSeries(
        'reveille_media_frame_seconds',
        'From the coming of a frame at the bridge leg to its picture being finished.',
        this.#mediaFrameTimes,
      ),
      exposeSeries('reveille_peer_ask_seconds', 'From asking another member to its answer.', this.#peerAsks),
    ].join('\n');
  }

  httpRequest(route: string, status: number, code: number, seconds: number): void {
    this.#http.observe(route, status, code, seconds);
  }

  authFailure(reason: string): void {
    this.#tallies.authFailures.add(reason);
  }

  sleepLogin(result: 'accepted' | SleepRefusal): void {
    this.#tallies.sleepLogins.add(result);
  }

  sleepEnd(reason: SleepEndReason): void {
    this.#tallies.sleepEnds.add(reason);
  }

  signalLogin(result: 'accepted' | SignalRefusal): void {
    this.#tallies.signalLogins.add(result);
  }

  signalEnd(reason: SignalEndReason): void {
    this.#tallies.signalEnds.add(reason);
  }

  wakeup(outcome: WakeupOutcomeLabel): void {
    this.#tallies.wakeups.add(outcome);
  }

  wakeupWrite(seconds: number): void {
    this.#wakeupWrites.observe(seconds);
  }

  wakeupToOnline(seconds: number): void {
    this.#wakeupsToOnline.observe(seconds);
  }

  message(outcome: MessageOutcomeLabel): void {
    this.#tallies.messages.add(outcome);
  }

  event(type: EventType): void {
    this.#tallies.events.add(type);
  }

  webhookDelivery(result: WebhookResultLabel, count: number): void {
    this.#tallies.webhookDeliveries.add(result, count);
  }

  callCredentials(outcome: CredentialsOutcomeLabel): void {
    this.#tallies.callCredentials.add(outcome);
  }

  callEnd(reason: CallEndReason): void {
    this.#tallies.callEnds.add(reason);
  }

  callReport(result: CallReportLabel): void {
    this.#tallies.callReports.add(result);
  }

  bridgeAnswer(result: BridgeAnswerLabel): void {
    this.#tallies.bridgeAnswers.add(result);
  }

  peerAsk(result: PeerAskLabel, seconds: number): void {
    this.#tallies.peerAsks.add(result);
    if (result === 'answered') this.#peerAsks.observe(seconds);
  }

  slot(result: SlotLabel): void {
    this.#tallies.slots.add(result);
  }

  mediaLogin(result: 'accepted' | LegRefusal): void {
    this.#tallies.mediaLogins.add(result);
  }

  mediaFrames(result: MediaFrameResult, count: number): void {
    this.#tallies.mediaFrames.add(result, count);
  }

  mediaRebuilds(count: number): void {
    this.#tallies.mediaRebuilds.inc(count);
  }

  mediaFrameTime(seconds: number): void {
    this.#mediaFrameTimes.observe(seconds);
  }
}

function exposeSeries(name: string, help: string, series: DurationSeries): string {
  return exposeHistogramHead(name, help) + series.expose(name, '');
}
