/** Where events are read from: the running server, or the store it left. Both take the query of the ops listener. */
import { openStoreReadOnly } from '../../storage/lmdb/open-store.ts';
import { StoredEvents } from '../../storage/events/stored-events.ts';
import { readEvents, type EventsAnswer } from '../../gateways/admin/event-answer.ts';
import { parseEventsRequest } from '../../gateways/admin/event-request.ts';
import { usageError } from '../shell/command-error.ts';
import { findOpsClient } from '../admin/ops-client.ts';

export interface FeedAnswer extends EventsAnswer {
  /** The server is stopping: it answers at once, whatever the wait. */
  readonly draining?: boolean;
}

export interface EventFeed {
  /** Throws an OpsUnavailableError when the same may be asked again. `signal`: gives the question up. */
  ask(query: URLSearchParams, signal?: AbortSignal): Promise<FeedAnswer>;
}

/** Null: no server runs on the directory. Throws a CommandError while one starts or stops. */
export function liveFeed(dataDirectory: string): EventFeed | null {
  const ops = findOpsClient(dataDirectory);
  if (ops === null) return null;
  return { ask: (query, signal) => ops.ask<FeedAnswer>('/v1/events', query, signal) };
}

/** The store at rest, opened for each question. Throws a StoreOpenError when there is none. */
export function restingFeed(dataDirectory: string): EventFeed {
  return {
    async ask(query) {
      const request = parseEventsRequest(query);
      if (!request.ok) throw usageError(request.error);
      const store = openStoreReadOnly(dataDirectory);
      try {
        return await readEvents(new StoredEvents(store.state), request.value);
      } finally {
        await store.close();
      }
    },
  };
}
