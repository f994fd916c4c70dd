/**
 * The state of a fleet: counts since the start, latencies of the last minute, and both as a table, as one line, or as one
 * JSON object.
 */
import { troubleLines, type TroubleCount } from './fleet-troubles.ts';
import { alignColumns } from '../../cli/shell/output.ts';
import { SignalRefused } from './signal-controller.ts';
import type { DeviceStage } from './simulated-device.ts';
import { LoginRefused } from './sleeping-module.ts';
import { counted } from '../../cli/shell/option-values.ts';

export interface FleetFigures {
  readonly seconds: number;
  readonly devices: number;
  /** Now, by what they do; together they are all. */
  readonly offline: number;
  readonly booting: number;
  readonly online: number;
  readonly asleep: number;
  /** Logins of controllers and of modules in the last second. */
  readonly loginsPerSecond: number;
  /** Since the start. */
  readonly logins: number;
  readonly sleepLogins: number;
  readonly refused: number;
  readonly errors: number;
  readonly heartbeats: number;
  readonly messages: number;
  readonly wakes: number;
  /** From the packet on the wire to the welcome, as the devices see it; null: none within a minute. */
  readonly packetToOnline: LatencySummary | null;
  /** From the accepted wakeup to the signal login, as the server says it; undefined: nobody asks it. */
  readonly acceptedToOnline?: LatencySummary | null;
  /** Latest last. */
  readonly latestWakes: readonly string[];
  readonly latestTroubles: readonly string[];
  /** Since the start. */
  readonly troubles: readonly TroubleCount[];
}

/** Lines without an end of line. */
export function renderTable(figures: FleetFigures): string[] {
  const { offline, booting, online, asleep, loginsPerSecond, wakes, heartbeats, refused, errors } = figures;
  const stages = { offline, booting, online, asleep };
  const counts = { 'logins/s': loginsPerSecond, wakes, heartbeats, refused, errors };
  const lines = [
    `${counted(figures.devices, 'device')} for ${figures.seconds.toFixed(0)} s; Ctrl-C ends it`,
    '',
    ...numbersUnderNames({ ...stages, ...counts }),
    '',
    ...alignRight(latencyRows(figures)),
  ];
  if (figures.latestWakes.length > 0) lines.push('', ...figures.latestWakes);
  if (figures.latestTroubles.length > 0)
    lines.push('', 'troubles', ...troubleLines(figures.troubles), ...figures.latestTroubles);
  return lines;
}

/** The same in one line, for a log. */
export function lineOf(figures: FleetFigures): string {
  const { offline, booting, online, asleep, loginsPerSecond, wakes, refused, errors } = figures;
  const stages = `${asleep} asleep  ${online} online  ${booting} booting  ${offline} offline`;
  const latency = figures.packetToOnline;
  const woken = latency === null ? '' : `, online again after ${latency.p50Ms} ms (p95 ${latency.p95Ms} ms)`;
  return `${stages}  ${loginsPerSecond} logins/s  ${counted(wakes, 'wake')}${woken}  ${refused} refused  ${counted(errors, 'error')}`;
}

/** The last figures, for people. */
export function summaryOf(figures: FleetFigures): string {
  const { devices, seconds, asleep, online, logins, sleepLogins, refused, errors, wakes } = figures;
  const { packetToOnline: woken } = figures;
  const latency =
    woken === null ? '' : `; online again after ${woken.p50Ms} ms (p95 ${woken.p95Ms}, max ${woken.maxMs})`;
  return (
    `${counted(devices, 'device')} for ${seconds.toFixed(1)} s, ${asleep} asleep and ${online} online at the end: ` +
    `${counted(logins, 'signal login')}, ${counted(sleepLogins, 'sleep login')}, ${refused} refused, ${counted(errors, 'error')}, ${counted(wakes, 'wake')}${latency}`
  );
}

/** Names as on every wire: snake case, the unit last. */
export function encodeFigures(figures: FleetFigures): object {
  const { seconds, devices, offline, booting, online, asleep, acceptedToOnline } = figures;
  const { loginsPerSecond, logins, sleepLogins, refused, errors, heartbeats, messages, wakes } = figures;
  return {
    seconds: Number(seconds.toFixed(1)),
    devices,
    offline,
    booting,
    online,
    asleep,
    logins_per_second: loginsPerSecond,
    logins,
    sleep_logins: sleepLogins,
    refused,
    errors,
    heartbeats,
    messages,
    wakes,
    packet_to_online: encodeLatency(figures.packetToOnline),
    ...(acceptedToOnline !== undefined && { accepted_to_online: encodeLatency(acceptedToOnline) }),
  };
}

function encodeLatency(latency: LatencySummary | null): object | null {
  if (latency === null) return null;
  return { count: latency.count, p50_ms: latency.p50Ms, p95_ms: latency.p95Ms, max_ms: latency.maxMs };
}

function latencyRows({ packetToOnline, acceptedToOnline }: FleetFigures): string[][] {
  const rows = [
    ['woken, last minute', 'count', 'p50', 'p95', 'max'],
    ['packet to online again', ...latencyCells(packetToOnline)],
  ];
  if (acceptedToOnline !== undefined)
    rows.push(['accepted to online (server)', ...latencyCells(acceptedToOnline)]);
  return rows;
}

function latencyCells(latency: LatencySummary | null): string[] {
  if (latency === null) return ['0', '-', '-', '-'];
  return [String(latency.count), `${latency.p50Ms} ms`, `${latency.p95Ms} ms`, `${latency.maxMs} ms`];
}

/** With every name its column, a terminal of 80 characters is enough. */
const countWidthMin = 6;

function numbersUnderNames(numbers: Readonly<Record<string, number>>): string[] {
  const cells = Object.entries(numbers).map(([name, value]) => {
    const width = Math.max(name.length, String(value).length, countWidthMin);
    return [name.padStart(width), String(value).padStart(width)] as const;
  });
  return [cells.map(([name]) => name).join('  '), cells.map(([, value]) => value).join('  ')];
}

const latencyWidthMin = 7;

/** Columns, the first to the left and numbers to the right. */
function alignRight(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 0, 0, 0].map((_, column) =>
    Math.max(...rows.map((row) => row[column + 1]?.length ?? 0), latencyWidthMin),
  );
  const padded = rows.map(([name = '', ...cells]) => [
    name,
    ...cells.map((cell, column) => cell.padStart(widths[column] ?? 0)),
  ]);
  return alignColumns(padded).split('\n');
}

export class DeviceTally {
  logins = 0;
  sleepLogins = 0;
  refused = 0;
  errors = 0;
  heartbeats = 0;
  messages = 0;
  wakes = 0;
  readonly size: number;
  readonly #stages: Record<DeviceStage, number>;

  /** All begin switched off. */
  constructor(size: number) {
    this.size = size;
    this.#stages = {
      offline: size,
      booting: 0,
      'signing-in': 0,
      online: 0,
      'falling-asleep': 0,
      asleep: 0,
    };
  }

  inStage(stage: DeviceStage): number {
    return this.#stages[stage];
  }

  countStep(from: DeviceStage, to: DeviceStage): void {
    this.#stages[from] -= 1;
    this.#stages[to] += 1;
    if (from === 'signing-in' && to === 'online') this.logins += 1;
    if (to === 'asleep') this.sleepLogins += 1;
  }

  countTrouble(error: Error): void {
    if (isRefusal(error)) this.refused += 1;
    else this.errors += 1;
  }
}

/** Where the connection just broke, nobody refused. */
export function isRefusal(error: Error): boolean {
  if (error instanceof SignalRefused) return error.code !== brokenCode;
  return error instanceof LoginRefused;
}

/** As WebSockets say that there was no close frame. */
const brokenCode = 1006;

export interface LatencySummary {
  readonly count: number;
  /** Whole milliseconds. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
}

const windowMs = 60_000;
/** Beyond it the oldest are written over, though the minute is not yet over. */
const samplesMax = 16_384;

export class LatencyWindow {
  readonly #samples: { readonly atMs: number; readonly tookMs: number }[] = [];
  #next = 0;

  /** `atMs`: monotonic. */
  add(atMs: number, tookMs: number): void {
    this.#samples[this.#next] = { atMs, tookMs };
    this.#next = (this.#next + 1) % samplesMax;
  }

  /** Null when there was none in the minute before `nowMs`. */
  summarize(nowMs: number): LatencySummary | null {
    const sorted = this.#samples
      .filter(({ atMs }) => atMs > nowMs - windowMs)
      .map(({ tookMs }) => tookMs)
      .sort((one, other) => one - other);
    if (sorted.length === 0) return null;
    const at = (part: number): number => Math.round(sorted[Math.ceil(sorted.length * part) - 1] ?? 0);
    return { count: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95), maxMs: at(1) };
  }
}
