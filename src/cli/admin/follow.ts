/**
 * Follows a log across stops, crashes and restarts of the server: each request continues after the last answer shown, so that no
 * entry is missed or shown twice.
 */
import type { Clock } from '../../lib/clock.ts';
import { pauseUnless } from '../shell/command-context.ts';
import { OpsUnavailableError } from './ops-refusal.ts';

/** Retry interval while the server is unavailable or stopping, milliseconds. */
export const retryMs = 1000;

export interface Followed<Answer, Place> {
  readonly clock: Clock;
  /** Rejects with an OpsUnavailableError if the same request may be retried. */
  readonly ask: (behind: Place, signal: AbortSignal) => Promise<Answer>;
  readonly show: (answer: Answer) => Shown<Place>;
  readonly remark: (text: string) => void;
}

export interface Shown<Place> {
  readonly next: Place;
  /** Delay before the next request; an earlier one would find nothing new. */
  readonly pauseMs: number;
  readonly isStopping: boolean;
}

/** Resolves when `signal` is aborted; rejects when the server refuses. `after`: the place of an earlier answer. */
export async function follow<Answer, Place>(
  { clock, ask, show, remark }: Followed<Answer, Place>,
  after: Place,
  signal: AbortSignal,
): Promise<void> {
  let place = after;
  let isUnavailable = false;
  while (!signal.aborted) {
    const answer = await ask(place, signal).catch(orUnavailable);
    if (signal.aborted) return;
    const shown =
      answer instanceof OpsUnavailableError
        ? { next: place, pauseMs: retryMs, trouble: answer.message }
        : withTrouble(show(answer));
    place = shown.next;
    if (shown.trouble !== null && !isUnavailable)
      remark(`${shown.trouble}; will continue when the server is back`);
    if (shown.trouble === null && isUnavailable) remark('the server is back');
    isUnavailable = shown.trouble !== null;
    if (shown.pauseMs > 0) await pauseUnless(clock, shown.pauseMs, signal);
  }
}

function withTrouble<Place>({ isStopping, ...shown }: Shown<Place>) {
  return { ...shown, trouble: isStopping ? 'the server is stopping' : null };
}

function orUnavailable(error: unknown): OpsUnavailableError {
  if (error instanceof OpsUnavailableError) return error;
  throw error;
}
