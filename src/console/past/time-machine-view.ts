/** The past of a device: a time line, the periods offline with their reasons, and the events. */
import type { EventsAnswer, WireEvent } from '../../gateways/admin/event-query.ts';
import { code, el, redraw, setText } from '../dom.ts';
import { dataTable } from '../lists.ts';
import { button, choice, moment, section, sentenceOf, type Page } from '../page.ts';
import { describeEvent } from './reasons.ts';
import { formatMoment, formatSpan, plural, zoneName } from '../text.ts';
import { drawTimeLine } from './time-line.ts';
import { pastOf, type Past } from './time-machine.ts';

const pageEvents = 500;
/** Maximum number of events loaded: operators look at days, not at years. */
const eventsKeptMax = 20_000;
const rowsMax = 100;

const spans = [
  ['15 minutes', 900_000],
  ['1 hour', 3_600_000],
  ['24 hours', 86_400_000],
  ['7 days', 7 * 86_400_000],
  ['all loaded', null],
] as const;
const dayAt = spans.findIndex(([, ms]) => ms === 86_400_000);

export class TimeMachine {
  readonly element: HTMLElement;
  readonly #page: Page;
  readonly #deviceId: string;
  readonly #events = new Map<number, WireEvent>();
  readonly #line = el('div', { class: 'time-line' });
  readonly #offline = el('div', {});
  readonly #list = el('div', {});
  readonly #reach = el('p', { class: 'faint' });
  readonly #earlier: HTMLButtonElement;
  readonly #choice = choice(
    'past',
    spans.map(([name]) => name),
    null,
    (at) => this.#choose(spans[at]?.[1] ?? null),
  );
  readonly #observer: ResizeObserver;
  /** Place after which newer events are read; null: nothing was read yet. */
  #next: number | null = null;
  /** Place before which earlier events are read; null: there are none. */
  #before: number | null = null;
  #spanMs: number | null = spans[0][1];
  #isChosen = false;
  #rows = rowsMax;

  constructor(page: Page, deviceId: string) {
    this.#page = page;
    this.#deviceId = deviceId;
    this.#earlier = button('Load earlier events', () => void this.#loadEarlier());
    this.element = el(
      'div',
      {},
      section(
        'Time machine',
        {},
        this.#choice,
        this.#line,
        el('p', { class: 'buttons' }, this.#earlier),
        this.#reach,
      ),
      section('Offline periods', {}, this.#offline),
      section('Events, the latest first', {}, this.#list),
    );
    this.#observer = new ResizeObserver(() => this.#drawLine());
    this.#observer.observe(this.#line);
  }

  async refresh(): Promise<void> {
    const query = { device_id: this.#deviceId, limit: pageEvents };
    const first = this.#next === null;
    const answer = await this.#page.client.read<EventsAnswer>(
      '/v1/events',
      first ? { ...query, last: pageEvents } : { ...query, after: this.#next },
    );
    if (first) this.#before = answer.before;
    this.#next = answer.next;
    this.#add(answer.events);
    if (first || answer.events.length > 0) this.#show();
    else this.#drawLine();
  }

  close(): void {
    this.#observer.disconnect();
  }

  async #loadEarlier(): Promise<void> {
    if (this.#before === null) return;
    this.#earlier.disabled = true;
    try {
      const query = { device_id: this.#deviceId, last: pageEvents, before: this.#before };
      const { events, before } = await this.#page.client.read<EventsAnswer>('/v1/events', query);
      this.#before = before;
      this.#add(events);
      this.#page.announce(
        events.length === 0
          ? 'This part of the log has no event of the device.'
          : `${plural(events.length, 'earlier event')}.`,
      );
    } catch (error) {
      this.#page.announce(sentenceOf(error), 'bad');
    }
    this.#earlier.disabled = false;
    this.#show();
  }

  #add(events: readonly WireEvent[]): void {
    for (const event of events) this.#events.set(event.seq, event);
  }

  #choose(spanMs: number | null): void {
    this.#isChosen = true;
    this.#spanMs = spanMs;
    this.#drawLine();
  }

  /** Until the user chooses a span, selects the shortest that covers all known events, at most a day. */
  #fitSpan({ knownFromMs }: Past): void {
    if (this.#isChosen) return;
    const known = Date.now() - (knownFromMs ?? Date.now());
    const at = Math.min(
      spans.findIndex(([, ms]) => ms === null || ms >= known),
      dayAt,
    );
    this.#spanMs = spans[at]?.[1] ?? null;
    const shown = this.#choice.querySelectorAll('input')[at];
    if (shown !== undefined) shown.checked = true;
  }

  #show(): void {
    const past = pastOf([...this.#events.values()]);
    this.#fitSpan(past);
    this.#earlier.hidden = this.#before === null || this.#events.size >= eventsKeptMax;
    const since = past.knownFromMs === null ? '' : ` The earliest is from ${formatMoment(past.knownFromMs)}.`;
    setText(
      this.#reach,
      `${plural(this.#events.size, 'event')} loaded; times are in ${zoneName()}.${since}${this.#before === null ? ' The log has no earlier ones.' : ''}`,
    );
    redraw(this.#offline, offlineOf(past));
    redraw(this.#list, ...this.#eventRows());
    this.#drawLine();
  }

  #drawLine(): void {
    const width = this.#line.clientWidth;
    if (width === 0) return;
    const past = pastOf([...this.#events.values()]);
    const toMs = Date.now();
    const fromMs = this.#spanMs === null ? (past.knownFromMs ?? toMs - 3_600_000) : toMs - this.#spanMs;
    this.#line.replaceChildren(drawTimeLine(past, { fromMs: Math.min(fromMs, toMs - 1000), toMs, width }));
  }

  #eventRows(): HTMLElement[] {
    const newest = [...this.#events.values()].sort((one, other) => other.seq - one.seq);
    const table = dataTable('Events of the device', 'None in the log.', newest.slice(0, this.#rows), [
      { name: 'Time', cell: ({ at }) => moment(Date.parse(at)) },
      { name: 'Event', cell: describeEvent },
      { name: 'Type', cell: ({ type }) => code(type), isWide: true },
    ]);
    if (newest.length <= this.#rows) return [table];
    const more = button(`Show ${plural(newest.length - this.#rows, 'more event')}`, () => {
      this.#rows = Infinity;
      redraw(this.#list, ...this.#eventRows());
    });
    return [table, more];
  }
}

function offlineOf({ offline }: Past): HTMLElement {
  const shown = offline.toReversed().slice(0, rowsMax);
  return dataTable('Offline periods', 'None in the loaded events.', shown, [
    { name: 'From', cell: ({ fromMs }) => moment(fromMs) },
    {
      name: 'Duration',
      cell: ({ fromMs, toMs }) =>
        formatSpan((toMs ?? Date.now()) - fromMs) + (toMs === null ? ', not ended' : ''),
    },
    { name: 'Reason', cell: ({ ending }) => (ending === '' ? 'unknown' : ending) },
  ]);
}
