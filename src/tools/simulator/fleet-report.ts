/**
 * The output of a simulated fleet: on a terminal a table or a line that is drawn in place once a second, elsewhere how
 * it stands now and then; wakes as lines while they are few, where no table has them; at the end a summary. With `--json`
 * each is an object with its `event`.
 */
import type { Clock } from '../../lib/clock.ts';
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import type { WakeupOutcomeData } from '../../client/reveille-client.ts';
import {
  encodeFigures,
  lineOf,
  renderTable,
  summaryOf,
  type DeviceTally,
  type FleetFigures,
  LatencyWindow,
} from './fleet-table.ts';
import { FleetTroubles, troubleLines } from './fleet-troubles.ts';
import { ConnectionFailedError } from '../../cli/shell/connection-failure.ts';
import { timeOfDay } from '../../cli/api/events-text.ts';
import { type LiveTable, type Output } from '../../cli/shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { describeOutcome } from '../../cli/api/wakeup-outcome.ts';

/** Lines for people and troubles for all; what goes beyond is counted. */
const wakeLines: Rate = { perSecond: 20, burst: 40 };
const troublesShown: Rate = { perSecond: 1, burst: 5 };
/** Under the table. */
const latestMax = 5;

export interface FleetReportDeps {
  readonly clock: Clock;
  readonly output: Output;
  readonly screen: LiveTable;
  readonly tally: DeviceTally;
  /** The fleet wakes itself through the API, and is told the outcomes. */
  readonly wakesItself: boolean;
}

export class FleetReport {
  readonly #deps: FleetReportDeps;
  readonly #startedMs: number;
  readonly #packetToOnline = new LatencyWindow();
  readonly #acceptedToOnline = new LatencyWindow();
  readonly #wakeBucket: TokenBucket;
  readonly #troubleBucket: TokenBucket;
  readonly #latestWakes: string[] = [];
  readonly #latestTroubles: string[] = [];
  readonly #troubles = new FleetTroubles();
  #before = { logins: 0, atMs: 0 };
  #wereAllAsleep = false;

  constructor(deps: FleetReportDeps) {
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonicMs();
    this.#before.atMs = this.#startedMs;
    this.#wakeBucket = fullBucket(wakeLines, this.#startedMs);
    this.#troubleBucket = fullBucket(troublesShown, this.#startedMs);
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
    const { clock, output, screen } = this.#deps;
    const isNew = this.#troubles.add(error);
    const text = showable(`${deviceId}: ${error.message}`);
    if (screen.isTable && !output.wantsJson)
      return keepLatest(this.#latestTroubles, `${timeOfDay(clock.wallMs())}  ${text}`);
    if (!this.#mayShow(this.#troubleBucket, troublesShown)) return;
    const json = { event: 'trouble', at: moment(clock), device_id: deviceId, reason: error.message };
    const advice = isNew && error instanceof ConnectionFailedError ? error.advice : null;
    if (!output.wantsJson) screen.above(() => output.remark(advice === null ? text : `${text}\n  ${advice}`));
    else output.answer(json, text);
  }

  /** Once a second. */
  progress(): void {
    const { clock, output, screen, tally } = this.#deps;
    const nowMs = clock.monotonicMs();
    const figures = this.#figures(nowMs, this.#before);
    this.#before = { logins: tally.logins + tally.sleepLogins, atMs: nowMs };
    this.#noteAllAsleep(figures);
    if (output.wantsJson) output.answer({ event: 'figures', ...encodeFigures(figures) }, '');
    else screen.show(renderTable(figures), lineOf(figures));
  }

  summary(): void {
    const { clock, output, screen } = this.#deps;
    screen.clear();
    const figures = this.#figures(clock.monotonicMs(), { logins: 0, atMs: this.#startedMs });
    const { troubles } = figures;
    const text = [summaryOf(figures), ...troubleLines(troubles).map((line) => `  ${line}`)].join('\n');
    output.answer({ event: 'summary', ...encodeFigures(figures), troubles }, text);
  }

  /** Rates are those since `before`. */
  #figures(nowMs: number, before: Readonly<Record<'logins' | 'atMs', number>>): FleetFigures {
    const { tally, wakesItself } = this.#deps;
    const { logins, sleepLogins, refused, errors, heartbeats, messages, wakes } = tally;
    const newLogins = logins + sleepLogins - before.logins;
    return {
      seconds: (nowMs - this.#startedMs) / 1000,
      devices: tally.size,
      offline: tally.inStage('offline'),
      booting: tally.inStage('booting') + tally.inStage('signing-in'),
      online: tally.inStage('online') + tally.inStage('falling-asleep'),
      asleep: tally.inStage('asleep'),
      loginsPerSecond: Math.round((newLogins * 1000) / Math.max(1, nowMs - before.atMs)),
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
      troubles: this.#troubles.list(),
    };
  }

  #noteAllAsleep({ asleep, devices, seconds }: FleetFigures): void {
    if (this.#wereAllAsleep || asleep < devices) return;
    this.#wereAllAsleep = true;
    const { output, screen } = this.#deps;
    const text = `all ${devices} asleep after ${seconds.toFixed(0)} s`;
    if (!screen.isTable || output.wantsJson)
      screen.above(() => output.answer({ event: 'asleep', devices }, text));
  }

  #notifyWake(json: object, text: string): void {
    const { clock, output, screen } = this.#deps;
    if (output.wantsJson) output.answer({ ...json, at: moment(clock) }, text);
    else if (screen.isTable) keepLatest(this.#latestWakes, `${timeOfDay(clock.wallMs())}  ${text}`);
    else if (this.#mayShow(this.#wakeBucket, wakeLines))
      screen.above(() => output.answer(json, `${moment(clock)}  ${text}`));
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

/** `98 3b 16 …`. */
export function spacedHex(bytes: Buffer): string {
  return bytes.toString('hex').replaceAll(/(..)(?=.)/g, '$1 ');
}
