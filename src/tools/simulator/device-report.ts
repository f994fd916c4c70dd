/**
 * The output of a simulated fleet of devices: a table that is drawn in place once a second, or, where there is no
 * terminal, wakes as lines while they are few and how it stands now and then. With `--json` each is an object with its
 * `event`.
 */
import type { Clock } from '../../lib/clock.ts';
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import type { WakeupOutcomeData } from '../../client/reveille-client.ts';
import {
  type DeviceTally,
  encodeFleetFigures,
  fleetLine,
  renderFleetTable,
  type FleetFigures,
  LatencyWindow,
  type LiveTable,
} from './fleet-table.ts';
import { formatLocalTime } from '../../cli/api/events-text.ts';
import { type Output, showable } from '../../cli/shell/output.ts';
import { spacedHex } from './fleet-report.ts';
import { describeOutcome } from '../../cli/api/wakeup-outcome.ts';

/** Lines for people and troubles for all; what goes beyond is counted. */
const wakeLines: Rate = { perSecond: 20, burst: 40 };
const troubleLines: Rate = { perSecond: 1, burst: 5 };
/** Under the table. */
const latestMax = 5;

export interface DeviceReportDeps {
  readonly clock: Clock;
  readonly output: Output;
  readonly table: LiveTable;
  readonly tally: DeviceTally;
  /** The fleet wakes itself through the API, and is told the outcomes. */
  readonly wakesItself: boolean;
}

export class DeviceReport {
  readonly #deps: DeviceReportDeps;
  readonly #startedMs: number;
  readonly #packetToOnline = new LatencyWindow();
  readonly #acceptedToOnline = new LatencyWindow();
  readonly #wakeBucket: TokenBucket;
  readonly #troubleBucket: TokenBucket;
  readonly #latestWakes: string[] = [];
  readonly #latestTroubles: string[] = [];
  #loginsBefore = 0;
  #beforeMs: number;
  #wereAllAsleep = false;

  constructor(deps: DeviceReportDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
    this.#beforeMs = this.#startedMs;
    this.#wakeBucket = fullBucket(wakeLines, this.#startedMs);
    this.#troubleBucket = fullBucket(troubleLines, this.#startedMs);
  }

  wake(deviceId: string, packet: Buffer): void {
    const json = { event: 'wake', device_id: deviceId, packet: packet.toString('hex') };
    this.#notifyWake(json, `${showable(deviceId)}  woken: ${spacedHex(packet)}`);
  }

  awake(deviceId: string, tookMs: number): void {
    this.#packetToOnline.add(this.#deps.clock.monotonicMs(), tookMs);
    const json = { event: 'awake', device_id: deviceId, took_ms: Math.round(tookMs) };
    this.#notifyWake(json, `${showable(deviceId)}  online again ${tookMs.toFixed(0)} ms after the packet`);
  }

  outcome(outcome: WakeupOutcomeData): void {
    if (outcome.woke_after_ms !== null && !outcome.already_online)
      this.#acceptedToOnline.add(this.#deps.clock.monotonicMs(), outcome.woke_after_ms);
    const said = `${showable(outcome.device_id)}  the server says: ${describeOutcome(outcome)}`;
    this.#notifyWake({ event: 'outcome', ...outcome }, said);
  }

  trouble(deviceId: string, error: Error): void {
    const { clock, output, table } = this.#deps;
    const text = showable(`${deviceId}: ${error.message}`);
    if (table.isDrawn && !output.wantsJson)
      return keepLatest(this.#latestTroubles, `${timeOfDay(clock)}  ${text}`);
    if (!this.#mayShow(this.#troubleBucket, troubleLines)) return;
    const json = { event: 'trouble', at: moment(clock), device_id: deviceId, reason: error.message };
    if (output.wantsJson) output.answer(json, text);
    else output.remark(text);
  }

  /** Once a second. */
  progress(): void {
    const { clock, output, table, tally } = this.#deps;
    const nowMs = clock.monotonicMs();
    const loginsPerSecond =
      ((tally.logins - this.#loginsBefore) * 1000) / Math.max(1, nowMs - this.#beforeMs);
    this.#loginsBefore = tally.logins;
    this.#beforeMs = nowMs;
    const figures = this.#figures(nowMs, Math.round(loginsPerSecond));
    this.#noteAllAsleep(figures);
    const line = fleetLine(figures);
    if (output.wantsJson) output.answer({ event: 'figures', ...encodeFleetFigures(figures) }, line);
    else table.show(renderFleetTable(figures), line);
  }

  summary(): void {
    const { clock, output, tally } = this.#deps;
    const nowMs = clock.monotonicMs();
    const seconds = Math.max(0.001, (nowMs - this.#startedMs) / 1000);
    const figures = this.#figures(nowMs, Math.round(tally.logins / seconds));
    const { logins, sleepLogins, wakes, refused, errors, packetToOnline: woken } = figures;
    const latency =
      woken === null ? '' : `; online again after ${woken.p50Ms} ms (p95 ${woken.p95Ms}, max ${woken.maxMs})`;
    output.answer(
      { event: 'summary', ...encodeFleetFigures(figures) },
      `${tally.size} devices for ${seconds.toFixed(1)} s, ${figures.asleep} asleep and ${figures.online} online at the end: ` +
        `${logins} signal logins, ${sleepLogins} sleep logins, ${refused} refused, ${errors} errors, ${wakes} wakes${latency}`,
    );
  }

  #figures(nowMs: number, loginsPerSecond: number): FleetFigures {
    const { tally, wakesItself } = this.#deps;
    const { logins, sleepLogins, refused, errors, heartbeats, messages, wakes } = tally;
    return {
      seconds: (nowMs - this.#startedMs) / 1000,
      devices: tally.size,
      offline: tally.inStage('offline'),
      booting: tally.inStage('booting') + tally.inStage('signing-in'),
      online: tally.inStage('online') + tally.inStage('falling-asleep'),
      asleep: tally.inStage('asleep'),
      loginsPerSecond,
      logins,
      sleepLogins,
      refused,
      errors,
      heartbeats,
      messages,
      wakes,
      packetToOnline: this.#packetToOnline.summarize(nowMs),
      ...(wakesItself && { acceptedToOnline: this.#acceptedToOnline.summarize(nowMs) }),
      latestWakes: this.#latestWakes,
      latestTroubles: this.#latestTroubles,
    };
  }

  #noteAllAsleep({ asleep, devices, seconds }: FleetFigures): void {
    if (this.#wereAllAsleep || asleep < devices) return;
    this.#wereAllAsleep = true;
    const { output, table } = this.#deps;
    if (!table.isDrawn || output.wantsJson)
      output.answer({ event: 'asleep', devices }, `all ${devices} asleep after ${seconds.toFixed(0)} s`);
  }

  #notifyWake(json: object, text: string): void {
    const { clock, output, table } = this.#deps;
    if (output.wantsJson) output.answer({ ...json, at: moment(clock) }, text);
    else if (table.isDrawn) keepLatest(this.#latestWakes, `${timeOfDay(clock)}  ${text}`);
    else if (this.#mayShow(this.#wakeBucket, wakeLines)) output.answer(json, `${moment(clock)}  ${text}`);
  }

  #mayShow(bucket: TokenBucket, rate: Rate): boolean {
    if (waitForToken(bucket, rate, this.#deps.clock.monotonicMs()) > 0) return false;
    takeToken(bucket);
    return true;
  }
}

function keepLatest(lines: string[], line: string): void {
  lines.push(line);
  if (lines.length > latestMax) lines.shift();
}

function moment(clock: Clock): string {
  return new Date(clock.wallMs()).toISOString();
}

/** Where the reader is: a table has no room for the day. */
function timeOfDay(clock: Clock): string {
  return formatLocalTime(clock.wallMs()).slice('2026-11-20 '.length);
}
