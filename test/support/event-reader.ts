/** A backend that reads the log over real HTTP from a cursor and receives every event once. */
import assert from 'node:assert/strict';
import type { ApiClient } from './api-client.ts';
import type { PublishedEvent } from './event-log-check.ts';

const pageMax = 1000;
const waitSeconds = 30;

export class EventReader {
  readonly #api: ApiClient;
  #cursor: string | null;
  #held: PublishedEvent[] = [];

  /** `cursor`: the `next` of an earlier answer; null: from the oldest event. */
  constructor(api: ApiClient, cursor: string | null = null) {
    this.#api = api;
    this.#cursor = cursor;
  }

  static async fromNow(api: ApiClient): Promise<EventReader> {
    const { next } = await readEvents(api, 'latest', 1);
    return new EventReader(api, next);
  }

  /** Resolves to the next `count` events; waits without limit. */
  async next(count: number): Promise<PublishedEvent[]> {
    while (this.#held.length < count) await this.#read(waitSeconds);
    return this.#held.splice(0, count);
  }

  /**
   * Resolves to the next events up to and including the first that `isWanted` accepts; waits without limit. Calls it once per
   * event.
   */
  async until(isWanted: (event: PublishedEvent) => boolean): Promise<PublishedEvent[]> {
    for (let place = 0; ; place += 1) {
      while (this.#held.length <= place) await this.#read(waitSeconds);
      const event = this.#held[place];
      if (event !== undefined && isWanted(event)) return this.#held.splice(0, place + 1);
    }
  }

  /** Resolves to the events that are available and were not returned yet. */
  async rest(): Promise<PublishedEvent[]> {
    for (let held = -1; held < this.#held.length;) {
      held = this.#held.length;
      await this.#read(0);
    }
    return this.#held.splice(0);
  }

  async #read(seconds: number): Promise<void> {
    const { events, next } = await readEvents(this.#api, this.#cursor, pageMax, seconds);
    this.#held.push(...events);
    this.#cursor = next;
  }
}

/** Reads a page of the log. `after`: null reads from the oldest event. */
export async function readEvents(
  api: ApiClient,
  after: string | null,
  limit: number,
  waitS = 0,
): Promise<{ readonly events: readonly PublishedEvent[]; readonly next: string }> {
  const cursor = after === null ? '' : `after=${after}&`;
  const answer = await api.call({ path: '/v1/events', query: `${cursor}limit=${limit}&wait=${waitS}` });
  assert.deepEqual([answer.status, answer.json.code], [200, 0], answer.text);
  const { events, next, truncated } = answer.json.data as Awaited<ReturnType<typeof readEvents>> & {
    readonly truncated: boolean;
  };
  assert.equal(truncated, false, 'the log has lost its beginning, or its end');
  return { events, next };
}

/** Reads everything after `after`; null: the whole log. */
export async function readLog(api: ApiClient, after: string | null = null): Promise<PublishedEvent[]> {
  return new EventReader(api, after).rest();
}
