/** `reveille events`: the log of events over all applications, as an operator reads it. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { eventTypes } from '../../model/events.ts';
import { eventsPageMax } from '../../model/limits.ts';
import { type EventsAnswer, type WireEvent, parseTypePattern } from '../../gateways/admin/event-query.ts';
import { follow, retryMs, type Shown } from '../admin/follow.ts';
import { opsClient } from '../admin/running-server.ts';
import { newCommand, type CommandContext, untilInterrupted, inContext } from '../shell/command-context.ts';
import { counted, parseDeviceIdOption, wholeNumberOption } from '../shell/option-values.ts';
import { type EventsSince, formatEvent, parseSince } from './events-text.ts';

interface EventsOptions {
  /** How many of the newest: at most what one answer may hold. */
  readonly last: number;
  /** Begins there instead of at the newest. */
  readonly since?: EventsSince;
  readonly follow?: boolean;
  readonly device?: string;
  /** Types, or beginnings of some and `*`. */
  readonly type?: readonly string[];
}

export function addEventsCommand(program: Command): void {
  const since = new Option(
    '--since <when>',
    'all from there: 10m, a moment, the id of an event, or a cursor',
  );
  newCommand(
    program,
    'events',
    'Show events, oldest first: a line an event, or with --json the event as backends get it.',
    "--since 10m --type 'device.wakeup.*'",
    '--follow --last 0 --device DOOR-1 --json',
  )
    .option('--last <count>', 'the newest so many', wholeNumberOption(0, eventsPageMax), 20)
    .addOption(since.argParser(parseSince).conflicts('last'))
    .option('-f, --follow', 'continue until Ctrl-C, also over a restart of the server')
    .option('--device <id>', 'only of this device', parseDeviceIdOption)
    .option('--type <type>', 'only this type; * at its end stands for any rest; may be repeated', collectType)
    .action(inContext(showEvents));
}

function collectType(text: string, before: readonly string[] = []): readonly string[] {
  if (parseTypePattern(text) === null)
    throw new InvalidArgumentError(`There is no such type. There are ${eventTypes.join(', ')}.`);
  return [...before, text];
}

/** The most events in one answer. */
const pageEvents = '1000';

async function showEvents(context: CommandContext, options: EventsOptions): Promise<void> {
  const { clock, output } = context;
  const reading = new Reading(context, filterOf(options));
  const { since, last, follow: isFollowed } = options;
  const next =
    since === undefined ? await reading.showLast(last) : await reading.showFrom(since(clock.wallMs()));
  if (isFollowed === true) return untilInterrupted((signal) => reading.follow(next, signal));
  if (!reading.hasShown && last > 0) output.remark('no such event is kept');
}

function filterOf({ device, type = [] }: EventsOptions): URLSearchParams {
  const filter = new URLSearchParams();
  for (const pattern of type) filter.append('type', pattern);
  if (device !== undefined) filter.set('device_id', device);
  return filter;
}

interface FollowedEvents extends EventsAnswer {
  /** The server is stopping: it answers at once, whatever the wait. */
  readonly draining?: boolean;
}

/** A follower that hangs up takes up a reader slot of the server for at most this long. */
const waitSeconds = '10';

class Reading {
  readonly #context: CommandContext;
  readonly #filter: URLSearchParams;
  hasShown = false;

  constructor(context: CommandContext, filter: URLSearchParams) {
    this.#context = context;
    this.#filter = filter;
  }

  /** Shows the newest `count`, however far back they are. Resolves to where to read on. */
  async showLast(count: number): Promise<number> {
    const progress = this.#context.newProgressLine();
    let answer = await this.#ask([['last', String(count)]]);
    const { next } = answer;
    let found = answer.events;
    while (answer.before !== null) {
      progress.show(`looked back through ${counted(next - answer.before, 'event')}`);
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

  /** Shows everything from there to the event that was the newest at the beginning. Resolves to where to read on. */
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
    const { clock, output } = this.#context;
    const followed = {
      clock,
      ask: (behind: number, given: AbortSignal) =>
        this.#ask<FollowedEvents>(
          [
            ['after', String(behind)],
            ['limit', pageEvents],
            ['wait', waitSeconds],
          ],
          given,
        ),
      show: (answer: FollowedEvents) => this.#showFollowed(answer),
      remark: (text: string) => output.remark(text),
    };
    return follow(followed, after, signal);
  }

  #showFollowed({ events, next, truncated, draining = false }: FollowedEvents): Shown<number> {
    if (truncated) this.#context.output.remark('some events in between are not kept any more');
    this.#show(events);
    return { next, pauseMs: draining && events.length === 0 ? retryMs : 0, isStopping: draining };
  }

  async #ask<Answer extends EventsAnswer = EventsAnswer>(
    more: readonly (readonly [key: string, value: string])[],
    signal?: AbortSignal,
  ): Promise<Answer> {
    const query = new URLSearchParams(this.#filter);
    for (const [key, value] of more) query.set(key, value);
    return opsClient(this.#context).ask<Answer>('/v1/events', query, signal);
  }

  #show(found: readonly WireEvent[]): void {
    for (const event of found) this.#context.output.answer(event, formatEvent(event));
    if (found.length > 0) this.hasShown = true;
  }
}
