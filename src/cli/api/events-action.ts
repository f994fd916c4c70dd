/** What `reveille events` does. */
import type { WireEvent } from '../../gateways/admin/event-answer.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { liveFeed, restingFeed, type EventFeed, type FeedAnswer } from './events-feed.ts';
import { followEvents } from './events-follow.ts';
import { formatEvent } from './events-line.ts';
import { startQuery, type EventsSince } from './events-since.ts';
import { untilInterrupted } from '../shell/until-interrupted.ts';

export interface EventsOptions {
  /** At most what one answer may hold. */
  readonly last: number;
  /** Instead of the last ones. */
  readonly since?: EventsSince;
  readonly follow?: boolean;
  readonly device?: string;
  /** Types, or beginnings of some and `*`. */
  readonly type?: readonly string[];
}

/** What one answer may hold. */
const pageEvents = '1000';

export async function events(context: CommandContext, options: EventsOptions): Promise<void> {
  const { clock, dataDirectory, output } = context;
  const live = liveFeed(dataDirectory);
  if (live === null) output.remark('no server is running here: from the store');
  const reading = new Reading(context, live ?? restingFeed(dataDirectory), filterOf(options));
  const { since, last, follow } = options;
  const next =
    since === undefined
      ? await reading.showLast(last)
      : await reading.showFrom(startQuery(since, clock.wallMs()));
  if (follow === true) return untilInterrupted((signal) => reading.follow(next, signal));
  if (!reading.hasShown && last > 0) output.remark('no such event is kept');
}

function filterOf({ device, type = [] }: EventsOptions): URLSearchParams {
  const filter = new URLSearchParams();
  for (const pattern of type) filter.append('type', pattern);
  if (device !== undefined) filter.set('device_id', device);
  return filter;
}

class Reading {
  readonly #context: CommandContext;
  readonly #feed: EventFeed;
  readonly #filter: URLSearchParams;
  hasShown = false;

  constructor(context: CommandContext, feed: EventFeed, filter: URLSearchParams) {
    this.#context = context;
    this.#feed = feed;
    this.#filter = filter;
  }

  /** The newest so many, however far back they are. Resolves to where to read on. */
  async showLast(count: number): Promise<number> {
    const progress = this.#context.newProgressLine();
    let answer = await this.#ask([['last', String(count)]]);
    const { next } = answer;
    let found = answer.events;
    while (answer.before !== null) {
      progress.show(`looked back through ${next - answer.before} events`);
      const missing = String(count - found.length);
      answer = await this.#ask([
        ['last', missing],
        ['before', String(answer.before)],
      ]);
      found = [...answer.events, ...found];
    }
    progress.clear();
    this.#show(found);
    return next;
  }

  /** Everything from there to what was the newest when it began. Resolves to where to read on. */
  async showFrom(start: readonly [key: string, value: string]): Promise<number> {
    const limit = ['limit', pageEvents] as const;
    let answer = await this.#ask([start, limit]);
    const { head } = answer;
    for (;;) {
      if (answer.truncated) this.#context.output.remark('events before these are not kept any more');
      this.#show(answer.events);
      if (answer.next >= head) return answer.next;
      answer = await this.#ask([['after', String(answer.next)], limit]);
    }
  }

  follow(after: number, signal: AbortSignal): Promise<void> {
    const { clock, dataDirectory, output } = this.#context;
    const deps = {
      clock,
      connect: () => liveFeed(dataDirectory),
      show: (found: readonly WireEvent[]) => this.#show(found),
      remark: (text: string) => output.remark(text),
    };
    return followEvents(deps, this.#filter, after, signal);
  }

  #ask(more: readonly (readonly [key: string, value: string])[]): Promise<FeedAnswer> {
    const query = new URLSearchParams(this.#filter);
    for (const [key, value] of more) query.set(key, value);
    return this.#feed.ask(query);
  }

  #show(found: readonly WireEvent[]): void {
    for (const event of found) this.#context.output.answer(event, formatEvent(event));
    if (found.length > 0) this.hasShown = true;
  }
}
