/** The gauges of the fronts of the API, and the figures behind them. */
import type { Instruments } from './instruments.ts';

/** `credentials`: it did not acknowledge a changed credential in time. */
export type FrontLoss = 'ended' | 'stuck' | 'credentials';

/** A front of the API. */
export interface FrontFigures {
  readonly name: string;
  readonly state: 'starting' | 'up' | 'stuck' | 'ended' | 'down';
  readonly connections: number;
  /** Calls that the core has not taken. */
  readonly waitingCalls: number;
  /** Calls that the core has taken and not answered. */
  readonly openCalls: number;
  /** Busy share of the time of its loop over some seconds, 0 to 1. */
  readonly utilization: number;
  readonly restarts: number;
  /** Wall milliseconds of its start, or of its end while it is down. */
  readonly sinceMs: number;
}

/** Numbers are since the start. */
export interface FrontsFigures {
  readonly fronts: readonly FrontFigures[];
  readonly replacements: Readonly<Record<FrontLoss, number>>;
  /** Calls that were refused because too many wait at a front. */
  readonly refusedCalls: number;
}

/** Without fronts they have no value. */
export function declareFrontGauges(
  { gauge, labelledGauge }: Pick<Instruments, 'gauge' | 'labelledGauge'>,
  read: () => FrontsFigures | null,
): void {
  const each = (name: string, help: string, of: (front: FrontFigures) => number): void =>
    labelledGauge(`reveille_front_${name}`, help, 'front', () =>
      Object.fromEntries((read()?.fronts ?? []).map((front) => [front.name, of(front)])),
    );
  each('up', '1 while the front of the API serves, else 0.', ({ state }) => Number(state === 'up'));
  each('connections', 'Open connections of each front.', ({ connections }) => connections);
  const share = 'Busy share of the time of the event loop of each front, 0 to 1, over some 5 s.';
  each('utilization', share, ({ utilization }) => utilization);
  each('waiting_calls', 'Calls at each front that wait for the core.', ({ waitingCalls }) => waitingCalls);
  each('open_calls', 'Calls of each front that the core has not answered.', ({ openCalls }) => openCalls);
  const lost = 'Fronts that were replaced since the start, by reason.';
  labelledGauge('reveille_front_replacements', lost, 'reason', () => read()?.replacements ?? null);
  const full = 'Calls refused since the start because too many waited at their front.';
  gauge('reveille_front_refused_calls', full, () => read()?.refusedCalls ?? null);
}
