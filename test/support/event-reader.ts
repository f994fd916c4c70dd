/** A backend that reads the log over real HTTP from one moment on, and is given every event once. */
import assert from 'node:assert/strict';
import type { ApiClient } from './api-client.ts';
import type { ToldEvent } from './event-log-check.ts';

const pageMax = 1000;
const waitSeconds = 30;

export class EventReader {
  readonly #api: ApiClient;
  #cursor: string | null;
  #held: ToldEvent[] = [];

  /** `cursor`: the `next` of an earlier answer; null: from the oldest event that is kept. */
  constructor(api: ApiClient, cursor: string | null = null) {
    this.#api = api;
    this.#cursor = cursor;
  }

  static async fromNow(api: ApiClient): Promise<EventReader> {
    const { next } = await readEvents(api, 'latest', 1);
    return new EventReader(api, next);
  }

  /** The next `count` events, waited for as long as it takes. */
  async take(count: number): Promise<ToldEvent[]> {
    while (this.#held.length < count) await this.#read(waitSeconds);
    return this.#held.splice(0, count);
  }

  /** The next events up to the first that is wanted, and that one, waited for as long as it takes; asked of each once. */
  async until(isWanted: (event: ToldEvent) => boolean): Promise<ToldEvent[]> {
    for (let place = 0; ; place += 1) {
      while (this.#held.length <= place) await this.#read(waitSeconds);
      const event = this.#held[place];
      if (event !== undefined && isWanted(event)) return this.#held.splice(0, place + 1);
    }
  }

  /** What there is and was not taken. */
  async rest(): Promise<ToldEvent[]> {
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

/** A page of the log. `after` null: from the oldest. */
export async function readEvents(
  api: ApiClient,
  after: string | null,
  limit: number,
  waitS = 0,
): Promise<{ readonly events: readonly ToldEvent[]; readonly next: string }> {
  const cursor = after === null ? '' : `after=${after}&`;
  const answer = await api.call({ path: '/v1/events', query: `${cursor}limit=${limit}&wait=${waitS}` });
  assert.deepEqual([answer.status, answer.json.code], [200, 0], answer.text);
  const { events, next, truncated } = answer.json.data as Awaited<ReturnType<typeof readEvents>> & {
    readonly truncated: boolean;
  };
  assert.equal(truncated, false, 'the log has lost its beginning, or its end');
  return { events, next };
}

/** All that is behind `after`; null: the whole log. */
export async function readLog(api: ApiClient, after: string | null = null): Promise<ToldEvent[]> {
  return new EventReader(api, after).rest();
}
