/**
 * Follows the log of a server that may stop, crash and start again meanwhile: each request begins behind the last event
 * that was read, so that nothing is missed or shown twice.
 */
import type { Clock } from '../../lib/clock.ts';
import type { EventsAnswer, WireEvent } from '../../gateways/admin/event-query.ts';
import { CommandError } from '../shell/command-error.ts';
import { OpsUnavailableError } from '../admin/ops-client.ts';
import { pauseUnless } from '../shell/command-context.ts';

export interface FeedAnswer extends EventsAnswer {
  /** The server is stopping: it answers at once, whatever the wait. */
  readonly draining?: boolean;
}

export interface EventFeed {
  /** Throws an OpsUnavailableError when the same may be asked again. `signal`: gives the question up. */
  ask(query: URLSearchParams, signal: AbortSignal): Promise<FeedAnswer>;
}

export interface FollowDeps {
  readonly clock: Clock;
  /** The server that runs now; null: none does. Throws a CommandError while one starts or stops. */
  connect(): EventFeed | null;
  show(events: readonly WireEvent[]): void;
  /** Writes a remark for people. */
  remark(text: string): void;
}

/** A follower that hangs up takes up a reader slot of the server for at most this long. */
const waitSeconds = '10';
const pageEvents = '1000';
/** The interval at which an unavailable or stopping server is tried again. */
const retryMs = 1000;

/**
 * Resolves when `signal` is aborted; rejects with what the server refuses. `filter`: `device_id` and `type`; `after`:
 * the `next` of an earlier answer.
 */
export async function followEvents(
  deps: FollowDeps,
  filter: URLSearchParams,
  after: number,
  signal: AbortSignal,
): Promise<void> {
  let place = after;
  let isUnavailable = false;
  while (!signal.aborted) {
    const answer = await askBehind(deps, filter, place, signal);
    if (signal.aborted) return;
    if (typeof answer !== 'string') {
      if (answer.truncated) deps.remark('some events in between are not kept any more');
      deps.show(answer.events);
      place = answer.next;
    }
    const trouble = troubleOf(answer);
    if (trouble !== null && !isUnavailable) deps.remark(`${trouble}; following on when one is back`);
    if (trouble === null && isUnavailable) deps.remark('the server is back');
    isUnavailable = trouble !== null;
    if (isIdle(answer)) await pauseUnless(deps.clock, retryMs, signal);
  }
}

/** Why there is nothing more for now; null: there may be. */
function troubleOf(answer: FeedAnswer | string): string | null {
  if (typeof answer === 'string') return answer;
  return answer.draining === true ? 'the server is stopping' : null;
}

/** The answer, or why there is none now. */
async function askBehind(
  deps: FollowDeps,
  filter: URLSearchParams,
  place: number,
  signal: AbortSignal,
): Promise<FeedAnswer | string> {
  const query = new URLSearchParams(filter);
  query.set('after', String(place));
  query.set('limit', pageEvents);
  query.set('wait', waitSeconds);
  const server = connect(deps);
  if (server === null) return 'no server is running here';
  if (typeof server === 'string') return server;
  try {
    return await server.ask(query, signal);
  } catch (error) {
    if (error instanceof OpsUnavailableError) return error.message;
    throw error;
  }
}

function connect(deps: FollowDeps): EventFeed | string | null {
  try {
    return deps.connect();
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    throw error;
  }
}

/** True when another request at once would find nothing. */
function isIdle(answer: FeedAnswer | string): boolean {
  return typeof answer === 'string' || (answer.draining === true && answer.events.length === 0);
}
