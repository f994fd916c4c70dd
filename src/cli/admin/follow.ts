/**
 * Follows a log of a server that may stop, crash and start again meanwhile: each question begins behind the last answer that was
 * shown, so that nothing is missed or shown twice.
 */
import type { Clock } from '../../lib/clock.ts';
import { pauseUnless } from '../shell/command-context.ts';
import { OpsUnavailableError } from './ops-refusal.ts';

/** The interval at which an unavailable or stopping server is asked again. */
export const retryMs = 1000;

export interface Followed<Answer, Place> {
  readonly clock: Clock;
  /** Asks the server that runs now. Rejects with an OpsUnavailableError where the same may be asked again. */
  readonly ask: (behind: Place, signal: AbortSignal) => Promise<Answer>;
  readonly show: (answer: Answer) => Shown<Place>;
  /** Writes a remark for people. */
  readonly remark: (text: string) => void;
}

export interface Shown<Place> {
  /** The place to continue behind. */
  readonly next: Place;
  /** Before that another question would find nothing. */
  readonly pauseMs: number;
  readonly isStopping: boolean;
}

/** Resolves when `signal` is aborted; rejects with what the server refuses. `after`: the place of an earlier answer. */
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
      remark(`${shown.trouble}; following on when a server is back`);
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
