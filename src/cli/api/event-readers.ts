/**
 * Reads the event log for a command: all events through the ops listener, or one application's through the signed API. Source:
 * events.md, Reading.
 */
import { ReveilleUnreachableError, type ReveilleClient } from '../../client/reveille-client.ts';
import { parseTypePattern, type EventsAnswer, type WireEvent } from '../../gateways/admin/event-query.ts';
import { eventsPageMax } from '../../model/limits.ts';
import { decodeCursor, encodeCursor } from '../../protocol/rest/events.ts';
import type { OpsClient } from '../admin/ops-client.ts';
import { OpsUnavailableError } from '../admin/ops-refusal.ts';
import { CommandError } from '../shell/command-error.ts';

export interface EventFilter {
  readonly device?: string;
  /** Types, or prefixes that end in `*`. */
  readonly type?: readonly string[];
}

export interface ReadEvents {
  readonly events: readonly WireEvent[];
  readonly next: number;
  /** Some events before or between these have been dropped from the log. */
  readonly truncated: boolean;
  /** The server is stopping and answers at once instead of waiting. */
  readonly draining?: boolean;
}

export interface EventReader {
  /** The newest `count` events, however old. `onSearch` receives the number of events searched so far. */
  last(count: number, onSearch: (looked: number) => void): Promise<ReadEvents>;
  /** All events from `start`, in the form of an `EventsSince`, to the newest at the time of the call, in pages. */
  since(start: readonly [key: string, value: string]): AsyncIterable<ReadEvents>;
  /** Waits for events after `place`. Rejects with an OpsUnavailableError if the request may be retried. */
  behind(place: number, signal: AbortSignal): Promise<ReadEvents>;
}

/** Long-poll time: a follower that disconnects occupies a reader slot for at most this long. */
const waitSeconds = 10;

export function readerOfOps(opsClient: () => OpsClient, { device, type = [] }: EventFilter): EventReader {
  const ask = async (more: Readonly<Record<string, number | string>>, signal?: AbortSignal) => {
    const query = new URLSearchParams(type.map((pattern): [string, string] => ['type', pattern]));
    if (device !== undefined) query.set('device_id', device);
    for (const [key, value] of Object.entries(more)) query.set(key, String(value));
    return opsClient().ask<EventsAnswer & Pick<ReadEvents, 'draining'>>('/v1/events', query, signal);
  };
  return {
    async last(count, onSearch) {
      let answer = await ask({ last: count });
      const { next, truncated } = answer;
      let found = answer.events;
      while (answer.before !== null) {
        onSearch(next - answer.before);
        answer = await ask({ last: count - found.length, before: answer.before });
        found = [...answer.events, ...found];
      }
      return { events: found, next, truncated };
    },
    async *since([key, value]) {
      let answer = await ask({ [key]: value, limit: eventsPageMax });
      const { head } = answer;
      for (;;) {
        yield answer;
        if (answer.next >= head) return;
        answer = await ask({ after: answer.next, limit: eventsPageMax });
      }
    },
    behind: (place, signal) => ask({ after: place, limit: eventsPageMax, wait: waitSeconds }, signal),
  };
}

/** Size of the first window of a backward search; each further one is four times as large. */
const firstWindow = 1000;

export function readerOfApi(api: ReveilleClient, { device, type }: EventFilter): EventReader {
  const types =
    type === undefined ? null : new Set<string>(type.flatMap((one) => parseTypePattern(one) ?? []));
  const isWanted = (event: WireEvent): boolean =>
    (device === undefined || event.device_id === device) && (types === null || types.has(event.type));

  async function page(after: string, signal?: AbortSignal, waitS?: number): Promise<ReadEvents> {
    const answer = await api.events({ after, limit: eventsPageMax, signal, waitS });
    if (answer.ok) {
      const { events, next, truncated } = answer.data;
      return { events: events as readonly object[] as readonly WireEvent[], next: placeOf(next), truncated };
    }
    const refusal = `refused: ${answer.message} (${answer.code})`;
    throw answer.status >= 500 ? new OpsUnavailableError(refusal) : new CommandError(refusal);
  }

  /** The events after `place`, up to `head`. */
  async function* between(place: number, head: number): AsyncGenerator<ReadEvents> {
    let at = place;
    while (at < head) {
      const read = await page(encodeCursor(at));
      yield read;
      at = read.next;
    }
  }

  /** Searches backwards from the end, in growing windows, until `isEnough` accepts a window. Windows arrive newest first. */
  async function searchBackwards(
    isEnough: (window: readonly WireEvent[]) => boolean,
    onSearch: (looked: number) => void,
  ): Promise<ReadEvents> {
    const { next } = await page('latest');
    let events: readonly WireEvent[] = [];
    let truncated = false;
    let end = next;
    for (let size = firstWindow; end > 0 && !truncated; size *= 4) {
      const begin = Math.max(0, end - size);
      const window: WireEvent[] = [];
      for await (const read of between(begin, end)) {
        // The last page may overlap the previous window.
        const known = new Set(events.slice(0, read.events.length).map(({ id }) => id));
        window.push(...read.events.filter(({ id }) => !known.has(id)));
        truncated ||= read.truncated;
      }
      events = [...window, ...events];
      end = begin;
      onSearch(next - begin);
      if (isEnough(events)) break;
    }
    return { events, next, truncated };
  }

  return {
    async last(count, onSearch) {
      const read = await searchBackwards((events) => events.filter(isWanted).length >= count, onSearch);
      const wanted = read.events.filter(isWanted);
      return { ...read, events: wanted.slice(wanted.length - Math.min(count, wanted.length)) };
    },
    async *since([key, value]) {
      if (key === 'after') {
        const { next: head } = await page('latest');
        for await (const read of between(Number(value), head))
          yield { ...read, events: read.events.filter(isWanted) };
        // The place is at the end or beyond it.
        if (Number(value) >= head) yield { events: [], next: head, truncated: false };
        return;
      }
      const isBehind = placeOfSince(value);
      const read = await searchBackwards(
        ([oldest]) => oldest !== undefined && !isBehind(oldest),
        () => undefined,
      );
      const [oldest] = read.events;
      const events = read.events.filter((event) => isBehind(event) && isWanted(event));
      yield { ...read, events, truncated: read.truncated && oldest !== undefined && isBehind(oldest) };
    },
    async behind(place, signal) {
      const read = await page(encodeCursor(place), signal, waitSeconds).catch((error: unknown) => {
        const isAway = signal.aborted || error instanceof ReveilleUnreachableError;
        throw isAway ? new OpsUnavailableError((error as Error).message) : error;
      });
      return { ...read, events: read.events.filter(isWanted) };
    },
  };
}

/** Matches events after a moment, in Unix milliseconds, or after the event with this id: ids sort in the order of the log. */
function placeOfSince(value: string): (event: WireEvent) => boolean {
  return /^\d+$/.test(value) ? ({ at }) => Date.parse(at) >= Number(value) : ({ id }) => id > value;
}

function placeOf(cursor: string): number {
  const place = decodeCursor(cursor);
  if (place === null) throw new CommandError('the cursor of the server has the format of another release');
  return place;
}
