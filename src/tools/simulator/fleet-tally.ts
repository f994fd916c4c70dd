/** Counters of a fleet since its start, and its latest latencies. */
import { SignalRefused } from './signal-controller.ts';
import type { DeviceStage } from './simulated-device.ts';
import { LoginRefused } from './sleeping-module.ts';
import { ConnectionFailedError } from '../../cli/shell/connection-failure.ts';

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

/** False: a broken connection. */
export function isRefusal(error: Error): boolean {
  if (error instanceof SignalRefused) return error.code !== brokenCode;
  return error instanceof LoginRefused;
}

/** The close code of a WebSocket that closed without a close frame. */
const brokenCode = 1006;

/** JSON output; whole milliseconds. */
export interface LatencySummary {
  readonly count: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly max_ms: number;
}

const samplesMax = 1000;

export class Latencies {
  readonly #samples: number[] = [];

  add(tookMs: number): void {
    if (this.#samples.push(tookMs) > samplesMax) this.#samples.shift();
  }

  summarize(): LatencySummary | null {
    const sorted = this.#samples.toSorted((one, other) => one - other);
    if (sorted.length === 0) return null;
    const at = (part: number): number => Math.round(sorted[Math.ceil(sorted.length * part) - 1] ?? 0);
    return { count: sorted.length, p50_ms: at(0.5), p95_ms: at(0.95), max_ms: at(1) };
  }
}

interface TroubleCount {
  readonly reason: string;
  readonly advice: string | null;
  readonly count: number;
}

/** Maximum distinct reasons; a fleet usually has one or two. */
const reasonsMax = 8;
const others = 'other reasons';

export class FleetTroubles {
  readonly #counts = new Map<string, TroubleCount>();

  /** True: the first error with this reason. */
  add(error: Error): boolean {
    const isKnown = this.#counts.has(error.message);
    const reason = isKnown || this.#counts.size < reasonsMax ? error.message : others;
    const before = this.#counts.get(reason);
    const advice = error instanceof ConnectionFailedError && reason !== others ? error.advice : null;
    this.#counts.set(reason, { reason, advice, count: (before?.count ?? 0) + 1 });
    return before === undefined;
  }

  /** In descending order of frequency. */
  list(): readonly TroubleCount[] {
    return [...this.#counts.values()].sort((one, other) => other.count - one.count);
  }
}
