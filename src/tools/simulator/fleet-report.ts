/**
 * Output of a simulated fleet: wakes and errors as steps, device counts by stage once a second, and a final summary with the
 * errors by reason.
 */
import { describeOutcome } from '../../cli/api/wakeup-outcome.ts';
import { ConnectionFailedError } from '../../cli/shell/connection-failure.ts';
import { counted } from '../../cli/shell/option-values.ts';
import type { WakeupOutcomeData } from '../../client/reveille-client.ts';
import { showable } from '../../lib/showable-text.ts';
import { acquireTokens, fullBucket, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import { type DeviceTally, FleetTroubles, Latencies, type LatencySummary } from './fleet-tally.ts';
import { LiveReport, type ReportContext } from './live-report.ts';

/** Also for JSON: a fleet that cannot connect repeats the same error per device. */
const troublesShown: Rate = { perSecond: 1, burst: 5 };

export class FleetReport {
  readonly #context: ReportContext;
  readonly #tally: DeviceTally;
  readonly #live: LiveReport;
  readonly #packetToOnline = new Latencies();
  /** Null: no wakeups, and so no outcomes. */
  readonly #acceptedToOnline: Latencies | null;
  readonly #troubleBucket: TokenBucket;
  readonly #troubles = new FleetTroubles();
  #before: { readonly logins: number; readonly atMs: number };
  #wereAllAsleep = false;

  constructor(context: ReportContext, tally: DeviceTally, wakesItself: boolean) {
    this.#context = context;
    this.#tally = tally;
    this.#live = new LiveReport(context);
    this.#acceptedToOnline = wakesItself ? new Latencies() : null;
    const { startedMs } = this.#live;
    this.#before = { logins: 0, atMs: startedMs };
    this.#troubleBucket = fullBucket(troublesShown, startedMs);
  }

  wake(deviceId: string, packet: Buffer): void {
    const json = { event: 'wake', device_id: deviceId, packet: packet.toString('hex') };
    this.#live.step(json, `${showable(deviceId)}  woken: ${spacedHex(packet)}`);
  }

  awake(deviceId: string, tookMs: number): void {
    this.#packetToOnline.add(tookMs);
    const json = { event: 'awake', device_id: deviceId, took_ms: Math.round(tookMs) };
    this.#live.step(json, `${showable(deviceId)}  online again ${tookMs.toFixed(0)} ms after the packet`);
  }

  outcome(outcome: WakeupOutcomeData): void {
    if (outcome.woke_after_ms !== null && !outcome.already_online)
      this.#acceptedToOnline?.add(outcome.woke_after_ms);
    const text = `${showable(outcome.device_id)}  the server says: ${describeOutcome(outcome)}`;
    this.#live.step({ event: 'outcome', ...outcome }, text);
  }

  trouble(deviceId: string, error: Error): void {
    const { clock, output } = this.#context;
    const isNew = this.#troubles.add(error);
    if (acquireTokens(this.#troubleBucket, troublesShown, clock.monotonicMs()) > 0) return;
    const { message: reason } = error;
    if (output.wantsJson) return this.#live.step({ event: 'trouble', device_id: deviceId, reason }, '');
    const advice = isNew && error instanceof ConnectionFailedError ? `\n  ${error.advice}` : '';
    this.#live.remark(`${showable(`${deviceId}: ${reason}`)}${advice}`);
  }

  progress(): void {
    const nowMs = this.#context.clock.monotonicMs();
    const { logins, sleepLogins, size } = this.#tally;
    const figures = this.#figures(nowMs, this.#before);
    this.#before = { logins: logins + sleepLogins, atMs: nowMs };
    if (!this.#wereAllAsleep && figures.asleep === size) {
      this.#wereAllAsleep = true;
      const after = figures.seconds.toFixed(0);
      this.#live.step({ event: 'asleep', devices: size }, `all ${size} asleep after ${after} s`);
    }
    this.#live.progress(figures, lineOf(figures));
  }

  summary(): void {
    const { startedMs } = this.#live;
    const figures = this.#figures(this.#context.clock.monotonicMs(), { logins: 0, atMs: startedMs });
    const troubles = this.#troubles.list();
    const lines = troubles.flatMap(({ reason, advice, count }) => [
      `\n  ${count === 1 ? 'once' : `${count} times`}  ${reason}`,
      advice === null ? '' : `\n    ${advice}`,
    ]);
    this.#live.summary({ ...figures, troubles }, summaryOf(figures) + lines.join(''));
  }

  /** The login rate is that since `before`. */
  #figures(nowMs: number, before: { readonly logins: number; readonly atMs: number }): FleetFigures {
    const perMs =
      (this.#tally.logins + this.#tally.sleepLogins - before.logins) / Math.max(1, nowMs - before.atMs);
    return {
      seconds: Number(((nowMs - this.#live.startedMs) / 1000).toFixed(1)),
      ...countsOf(this.#tally),
      logins_per_second: Math.round(perMs * 1000),
      packet_to_online: this.#packetToOnline.summarize(),
      ...(this.#acceptedToOnline !== null && { accepted_to_online: this.#acceptedToOnline.summarize() }),
    };
  }
}

/** JSON output. */
interface FleetFigures extends ReturnType<typeof countsOf> {
  readonly seconds: number;
  readonly logins_per_second: number;
  /** From the wake packet to the welcome, measured by the devices; null: none yet. */
  readonly packet_to_online: LatencySummary | null;
  /** From the accepted wakeup to the signal login, measured by the server. */
  readonly accepted_to_online?: LatencySummary | null;
}

/** Devices by stage, and counters since the start. */
function countsOf(tally: DeviceTally) {
  const { size, logins, sleepLogins, refused, errors, heartbeats, messages, wakes } = tally;
  return {
    devices: size,
    offline: tally.inStage('offline'),
    booting: tally.inStage('booting') + tally.inStage('signing-in'),
    online: tally.inStage('online') + tally.inStage('falling-asleep'),
    asleep: tally.inStage('asleep'),
    logins,
    sleep_logins: sleepLogins,
    refused,
    errors,
    heartbeats,
    messages,
    wakes,
  };
}

function lineOf(figures: FleetFigures): string {
  const { seconds, offline, booting, online, asleep, logins_per_second, wakes, refused, errors } = figures;
  const stages = `${asleep} asleep  ${online} online  ${booting} booting  ${offline} offline`;
  const failed = `${refused} refused  ${counted(errors, 'error')}`;
  const woken = latencyInWords(figures.packet_to_online, ', online again after');
  return `${seconds.toFixed(0)} s  ${stages}  ${failed}  ${logins_per_second} logins/s  ${counted(wakes, 'wake')}${woken}`;
}

function summaryOf(figures: FleetFigures): string {
  const { devices, seconds, asleep, online, logins, sleep_logins, refused, errors, wakes } = figures;
  const latencies =
    latencyInWords(figures.packet_to_online, '; online again after') +
    latencyInWords(figures.accepted_to_online ?? null, '; by the server, after');
  return (
    `${counted(devices, 'device')} for ${seconds.toFixed(1)} s, ${asleep} asleep and ${online} online at the end: ` +
    `${counted(logins, 'signal login')}, ${counted(sleep_logins, 'sleep login')}, ${refused} refused, ${counted(errors, 'error')}, ${counted(wakes, 'wake')}${latencies}`
  );
}

function latencyInWords(latency: LatencySummary | null, before: string): string {
  return latency === null
    ? ''
    : `${before} ${latency.p50_ms} ms (p95 ${latency.p95_ms}, max ${latency.max_ms})`;
}

/** `98 3b 16 …`. */
export function spacedHex(bytes: Buffer): string {
  return bytes.toString('hex').replaceAll(/(..)(?=.)/g, '$1 ');
}
