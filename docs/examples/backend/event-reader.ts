/**
 * Reads the log of events: first what devices reported before this backend was started, then what happens. It keeps
 * the capabilities up to date and tells how calls go. A backend of your own starts at the cursor in its database.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiEvent, ReveilleClient } from 'reveille/client';
import type { Capabilities } from './capabilities.ts';
import type { StepLog } from './step-log.ts';

type EventApi = Pick<ReveilleClient, 'events' | 'followEvents'>;

const pageEvents = 1000;

export class EventReader {
  /** Resolves when all that was reported before is known, or may not be read. */
  readonly caughtUp: Promise<void>;
  readonly #api: EventApi;
  readonly #capabilities: Capabilities;
  readonly #log: StepLog;
  readonly #pauseMs: number;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  /** `pauseMs`: how long a server that cannot be reached at the start is left alone. */
  constructor(api: EventApi, capabilities: Capabilities, log: StepLog, pauseMs = 1000) {
    this.#api = api;
    this.#capabilities = capabilities;
    this.#log = log;
    this.#pauseMs = pauseMs;
    const cursor = this.#catchUp();
    this.caughtUp = cursor.then(() => undefined);
    this.#ended = cursor.then((after) => this.#follow(after));
  }

  /** Resolves when it reads no more. */
  stop(): Promise<void> {
    this.#stop.abort();
    return this.#ended;
  }

  /** The cursor where it came to; undefined: at the oldest. Never rejects. */
  async #catchUp(): Promise<string | undefined> {
    const { signal } = this.#stop;
    let after: string | undefined;
    while (!signal.aborted) {
      try {
        const page = await this.#api.events({ after, limit: pageEvents, signal });
        if (!page.ok) {
          this.#log('events.refused', { code: page.code, request_id: page.requestId });
          return after;
        }
        for (const { type, device_id, data } of page.data.events)
          if (type === 'device.signal.online') this.#capabilities.note(device_id, data.media);
        // A page without events is the end only where it went no further.
        if (page.data.next === after) return after;
        after = page.data.next;
      } catch (error) {
        this.#trouble(error);
        await delay(this.#pauseMs, undefined, { signal }).catch(() => undefined);
      }
    }
    return after;
  }

  async #follow(after: string | undefined): Promise<void> {
    const { signal } = this.#stop;
    const onTrouble = (error: Error): void => this.#trouble(error);
    try {
      for await (const { event } of this.#api.followEvents({ after, signal, onTrouble })) this.#take(event);
    } catch (error) {
      this.#trouble(error);
    }
  }

  #take({ type, device_id, data }: ApiEvent): void {
    if (type === 'device.signal.online') this.#capabilities.note(device_id, data.media);
    else if ('state' in data) this.#log(type, { device: device_id, ...data });
  }

  #trouble(error: unknown): void {
    if (!this.#stop.signal.aborted) this.#log('events.trouble', { error: String(error) });
  }
}
