/** The alarms of a server: each waits until it was true for long enough, fires, and is kept for a while when it is over. */
import type { Clock } from '../lib/clock.ts';
import { resolvedAlarmsMax } from '../model/console-limits.ts';
import { alarmRules, type AlarmRule, type AlarmSeverity, type AlarmUnit } from './alarm-rules.ts';
import type { FigureHistory } from './figure-history.ts';

/** It is true now. */
export interface FoundAlarm {
  readonly name: string;
  /** The process, the listener, the check, …; empty: the server. */
  readonly of: string;
  readonly severity: AlarmSeverity;
  readonly forMs: number;
  /** A few words: the value and its limit. */
  readonly found: string;
  /** The next thing to do; null: docs/alerts.md says it. */
  readonly advice: string | null;
}

export interface Alarm extends FoundAlarm {
  readonly state: 'pending' | 'firing' | 'resolved';
  /** Wall milliseconds: since then it is true. */
  readonly sinceMs: number;
  /** Wall milliseconds; null: it is not over. */
  readonly resolvedMs: number | null;
}

interface TrueAlarm extends Alarm {
  /** The same by the monotonic clock. */
  readonly trueMs: number;
}

export class Alarms {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'wallMs'>;
  /** By name and subject, which are words of ours. */
  #active: ReadonlyMap<string, TrueAlarm> = new Map();
  #resolved: readonly Alarm[] = [];

  constructor(clock: Pick<Clock, 'monotonicMs' | 'wallMs'>) {
    this.#clock = clock;
  }

  /** `found`: all that is true now. */
  observe(found: readonly FoundAlarm[]): void {
    const resolvedMs = this.#clock.wallMs();
    const before = this.#active;
    this.#active = new Map(found.map((one) => [keyOf(one), this.#next(one, before.get(keyOf(one)))]));
    const over = [...before].flatMap(([key, alarm]): Alarm[] =>
      alarm.state !== 'firing' || this.#active.has(key) ? [] : [{ ...alarm, state: 'resolved', resolvedMs }],
    );
    this.#resolved = [...over, ...this.#resolved].slice(0, resolvedAlarmsMax);
  }

  /** The firing ones first, and the critical ones first among them. */
  get active(): readonly Alarm[] {
    const rank = ({ state, severity }: Alarm): number =>
      (state === 'firing' ? 0 : 2) + Number(severity === 'warning');
    return [...this.#active.values()].sort((one, other) => rank(one) - rank(other));
  }

  /** The latest first. */
  get resolved(): readonly Alarm[] {
    return this.#resolved;
  }

  #next(found: FoundAlarm, before: TrueAlarm | undefined): TrueAlarm {
    const nowMs = this.#clock.monotonicMs();
    const { trueMs = nowMs, sinceMs = this.#clock.wallMs() } = before ?? {};
    const state = nowMs - trueMs >= found.forMs ? 'firing' : 'pending';
    return { ...found, state, sinceMs, trueMs, resolvedMs: null };
  }
}

function keyOf({ name, of }: FoundAlarm): string {
  return `${name} ${of}`;
}

/** The rules that are true by these figures. */
export function judgeRules(figures: FigureHistory): FoundAlarm[] {
  return alarmRules.flatMap((rule) =>
    Array.from(rule.condition.find(figures), ([of, value]) => {
      const { name, severity, forMs } = rule;
      return { name, of, severity, forMs, found: describeReading(rule, value), advice: null };
    }),
  );
}

function describeReading({ condition, unit }: AlarmRule, value: number): string {
  const [operator = '', limit = ''] = condition.limits[0]?.split(' ') ?? [];
  const reading = inWords(value, unit);
  return operator === '==' ? reading : `${reading}, limit ${operator} ${inWords(Number(limit), unit)}`;
}

const dayS = 86_400;

function inWords(value: number, unit: AlarmUnit): string {
  if (unit === 'count') return shortened(value);
  if (unit === 'percent') return `${shortened(value * 100)} %`;
  return Math.abs(value) < 2 * dayS ? `${shortened(value)} s` : `${Math.floor(value / dayS)} days`;
}

function shortened(value: number): string {
  return String(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)));
}
