/** The alarms of a server: each is pending until its condition was true long enough, then fires; once resolved it is listed for a while. */
import type { Clock } from '../lib/clock.ts';
import { resolvedAlarmsMax } from '../model/console-limits.ts';
import { alarmRules, type AlarmRule, type AlarmSeverity, type AlarmUnit } from './alarm-rules.ts';
import type { FigureHistory } from './figure-history.ts';

/** A condition that is true now. */
export interface FoundAlarm {
  readonly name: string;
  /** Subject: a process, a listener, a check, …; empty: the server. */
  readonly of: string;
  readonly severity: AlarmSeverity;
  readonly forMs: number;
  /** The value and its limit, in a few words. */
  readonly found: string;
  /** Next step; null: see docs/alerts.md. */
  readonly advice: string | null;
}

export interface Alarm extends FoundAlarm {
  readonly state: 'pending' | 'firing' | 'resolved';
  /** Wall milliseconds since which it is true. */
  readonly sinceMs: number;
  /** Wall milliseconds; null: not resolved. */
  readonly resolvedMs: number | null;
}

interface TrueAlarm extends Alarm {
  /** As `sinceMs`, on the monotonic clock. */
  readonly trueMs: number;
}

export class Alarms {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'wallMs'>;
  /** Key: name and subject; both come from fixed sets. */
  #active: ReadonlyMap<string, TrueAlarm> = new Map();
  #resolved: readonly Alarm[] = [];

  constructor(clock: Pick<Clock, 'monotonicMs' | 'wallMs'>) {
    this.#clock = clock;
  }

  /** `found`: all conditions that are true now. */
  observe(found: readonly FoundAlarm[]): void {
    const resolvedMs = this.#clock.wallMs();
    const before = this.#active;
    this.#active = new Map(found.map((one) => [keyOf(one), this.#next(one, before.get(keyOf(one)))]));
    const over = [...before].flatMap(([key, alarm]): Alarm[] =>
      alarm.state !== 'firing' || this.#active.has(key) ? [] : [{ ...alarm, state: 'resolved', resolvedMs }],
    );
    this.#resolved = [...over, ...this.#resolved].slice(0, resolvedAlarmsMax);
  }

  /** Firing before pending, critical before warning. */
  get active(): readonly Alarm[] {
    const rank = ({ state, severity }: Alarm): number =>
      (state === 'firing' ? 0 : 2) + Number(severity === 'warning');
    return [...this.#active.values()].sort((one, other) => rank(one) - rank(other));
  }

  /** Newest first. */
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

/** Rules whose conditions are true for these figures. */
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
