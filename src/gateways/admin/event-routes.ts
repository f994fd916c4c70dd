/**
 * GET /v1/events on the ops listener: the log of all applications, for operators. A query starts at one of `after=SEQUENCE`,
 * `since=UNIX_MS|EVENT_ID`, `last=COUNT[&before=SEQUENCE]`, filters by `device_id` and `type` (repeatable, may end in `*`), and
 * has `limit` and `wait` (seconds). The `next` of the answer is passed back as `after`.
 */
import type { Clock } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { ApplicationId } from '../../model/ids.ts';
import { operatorReadingMax, operatorsReadingMax } from '../../model/limits.ts';
import { WaitingReaders, type ReaderSlot } from '../../core/events/waiting-readers.ts';
import {
  readRoute,
  refuse,
  type AdminAnswer,
  type AdminRequest,
  type AdminRoute,
} from '../ops/admin-route.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import { isWanted, type EventFilter } from './event-pages.ts';
import { answerEventsRequest, type EventsAnswer, eventsQuery, type EventsRequest } from './event-query.ts';

export interface EventRoutesDeps {
  readonly clock: Clock;
  readonly events: EventLog;
}

interface Following {
  readonly filter: EventFilter;
  readonly slot: ReaderSlot;
}

export class EventRoutes {
  readonly #deps: EventRoutesDeps;
  readonly #readers: WaitingReaders;
  readonly #following = new Set<Following>();
  #isDraining = false;

  constructor(deps: EventRoutesDeps) {
    this.#deps = deps;
    const limits = { max: operatorsReadingMax, perApplicationMax: operatorReadingMax };
    this.#readers = new WaitingReaders(deps.clock, limits);
    deps.events.follow((committed) => this.#wake(committed));
  }

  get routes(): readonly AdminRoute[] {
    return [readRoute('/v1/events', eventsQuery, (query, request) => this.#handle(query, request))];
  }

  /** Ends all long polls for a drain; later requests are answered at once. */
  endWaits(): void {
    this.#isDraining = true;
    this.#readers.wakeAll();
  }

  /** To the waiting readers, each operator counts as an application. */
  async #handle(query: EventsRequest, { operator, gone }: AdminRequest): Promise<AdminAnswer> {
    const slot = this.#readers.enter(operator as ApplicationId);
    if (slot === null) return refuse(503, 'too many requests follow the events already: try again later');
    const following = { filter: query.filter, slot };
    this.#following.add(following);
    gone.addEventListener('abort', () => slot.leave());
    try {
      return await this.#answer(query, slot, gone);
    } finally {
      this.#following.delete(following);
      slot.leave();
    }
  }

  async #answer(
    request: EventsRequest,
    slot: ReaderSlot,
    gone: AbortSignal,
  ): Promise<EventsAnswer & { draining: boolean }> {
    const { clock, events } = this.#deps;
    const endMs = clock.monotonicMs() + request.waitMs;
    let answer = await answerEventsRequest(events, request);
    let truncated = false;
    for (;;) {
      truncated ||= answer.truncated;
      const leftMs = endMs - clock.monotonicMs();
      const isOver = answer.events.length > 0 || answer.before !== null || answer.next < answer.head;
      if (isOver || leftMs <= 0 || gone.aborted || this.#isDraining)
        return { ...answer, truncated, draining: this.#isDraining };
      await slot.wait(leftMs);
      answer = await answerEventsRequest(events, { ...request, start: { after: answer.next } });
    }
  }

  #wake(committed: readonly LoggedEvent[]): void {
    for (const { filter, slot } of this.#following)
      if (committed.some((event) => isWanted(filter, event))) slot.wake();
  }
}
