/** How a fleet of devices stands, as a few lines of text for a terminal and as one JSON object for machines. */
import { alignColumns } from '../../cli/shell/output.ts';
import type { LatencySummary } from './latency-window.ts';

export interface FleetFigures {
  readonly seconds: number;
  readonly devices: number;
  /** Now, by what they do; together they are all. */
  readonly offline: number;
  readonly booting: number;
  readonly online: number;
  readonly asleep: number;
  /** Signal logins of the last second. */
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
}

/** Lines without an end of line. */
export function renderFleetTable(figures: FleetFigures): string[] {
  const { offline, booting, online, asleep, loginsPerSecond, wakes, heartbeats, refused, errors } = figures;
  const stages = { offline, booting, online, asleep };
  const counts = { 'logins/s': loginsPerSecond, wakes, heartbeats, refused, errors };
  const lines = [
    `${figures.devices} devices for ${figures.seconds.toFixed(0)} s; Ctrl-C ends it`,
    '',
    ...numbersUnderNames({ ...stages, ...counts }),
    '',
    ...alignRight(latencyRows(figures)),
  ];
  if (figures.latestWakes.length > 0) lines.push('', ...figures.latestWakes);
  if (figures.latestTroubles.length > 0) lines.push('', 'troubles', ...figures.latestTroubles);
  return lines;
}

/** The same in one line, for a log. */
export function fleetLine(figures: FleetFigures): string {
  const { offline, booting, online, asleep, loginsPerSecond, wakes, refused, errors } = figures;
  const stages = `${asleep} asleep  ${online} online  ${booting} booting  ${offline} offline`;
  const latency = figures.packetToOnline;
  const woken = latency === null ? '' : `, online again after ${latency.p50Ms} ms (p95 ${latency.p95Ms} ms)`;
  return `${stages}  ${loginsPerSecond} logins/s  ${wakes} wakes${woken}  ${refused} refused  ${errors} errors`;
}

/** Names as on every wire: snake case, the unit last. */
export function encodeFleetFigures(figures: FleetFigures): object {
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
