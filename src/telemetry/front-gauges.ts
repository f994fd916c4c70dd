/** Gauges of the API fronts, and their figures. */
import type { Instruments } from './instruments.ts';

/** `credentials`: did not acknowledge a changed credential in time. */
export type FrontLoss = 'ended' | 'stuck' | 'credentials';

export interface FrontFigures {
  readonly name: string;
  readonly state: 'starting' | 'up' | 'stuck' | 'ended' | 'down';
  readonly connections: number;
  /** Calls waiting for the core. */
  readonly waitingCalls: number;
  /** Calls that the core has accepted and not answered. */
  readonly openCalls: number;
  /** Busy share of its event loop over some seconds, 0 to 1. */
  readonly utilization: number;
  readonly restarts: number;
  /** Wall milliseconds of its start; while it is down, of its end. */
  readonly sinceMs: number;
}

/** Counts since the start. */
export interface FrontsFigures {
  readonly fronts: readonly FrontFigures[];
  readonly replacements: Readonly<Record<FrontLoss, number>>;
  /** Calls refused because too many waited at their front. */
  readonly refusedCalls: number;
}

/** Without fronts these gauges have no value. */
export function declareFrontGauges(
  { gauge, labelledGauge }: Pick<Instruments, 'gauge' | 'labelledGauge'>,
  read: () => FrontsFigures | null,
): void {
  const each = (name: string, help: string, of: (front: FrontFigures) => number): void =>
    labelledGauge(`front_${name}`, help, 'front', () =>
      Object.fromEntries((read()?.fronts ?? []).map((front) => [front.name, of(front)])),
    );
  each('up', '1 while the API front serves, else 0.', ({ state }) => Number(state === 'up'));
  each('connections', 'Open connections of each front.', ({ connections }) => connections);
  const share = 'Busy share of the event loop of each front over 5 s, 0 to 1.';
  each('utilization', share, ({ utilization }) => utilization);
  each('waiting_calls', 'Calls waiting at each front for the core.', ({ waitingCalls }) => waitingCalls);
  each('open_calls', 'Calls of each front without an answer of the core.', ({ openCalls }) => openCalls);
  const lost = 'Fronts replaced since the start, by reason.';
  labelledGauge('front_replacements', lost, 'reason', () => read()?.replacements);
  const full = 'Calls refused since the start because too many waited at their front.';
  gauge('front_refused_calls', full, () => read()?.refusedCalls);
}
