/** The live feed of events, newest first, of all devices or filtered. */
import type { EventsAnswer, WireEvent } from '../../gateways/admin/event-query.ts';
import { code, el } from '../dom.ts';
import { dataTable, polledView, searchField, searchForm } from '../lists.ts';
import { deviceLink, moment, type Page, type View } from '../page.ts';
import { plural } from '../text.ts';

/** Delay before the next long poll, which the server answers at the next event or after `waitSeconds`. */
const everyMs = 500;
const waitSeconds = 15;
const keptMax = 500;

export function openEvents(page: Page, query: URLSearchParams): View {
  const filter = { device_id: query.get('device_id'), type: query.get('type') };
  let events: readonly WireEvent[] = [];
  let after: number | null = null;
  const read = async (gone?: AbortSignal): Promise<readonly WireEvent[]> => {
    const place = after === null ? { last: keptMax } : { after, limit: keptMax, wait: waitSeconds };
    const answer = await page.client.read<EventsAnswer>('/v1/events', { ...place, ...filter }, gone);
    events = [...answer.events.toReversed(), ...(after === null ? [] : events)].slice(0, keptMax);
    // A full answer means a backlog: continue with the latest events, so that the feed stays live.
    const isBehind = after !== null && answer.events.length === keptMax;
    after = isBehind ? null : answer.next;
    return events;
  };
  const form = searchForm('events', 'Show', [
    ['Device', searchField('device_id', query)],
    ['Type', searchField('type', query, 'device.wakeup.*')],
  ]);
  const feed = polledView('Events', everyMs, read, (found) => [
    el(
      'p',
      { class: 'faint' },
      `The latest ${plural(found.length, 'event')}, live; the page keeps ${keptMax}.`,
    ),
    tableOf(found),
  ]);
  return { ...feed, content: el('div', {}, form, feed.content) };
}

function tableOf(events: readonly WireEvent[]): HTMLElement {
  return dataTable('Events', 'No event yet.', events, [
    { name: 'Time', cell: ({ at }) => moment(Date.parse(at)) },
    { name: 'Event', cell: ({ type }) => code(type) },
    { name: 'Device', cell: (event) => deviceLink(event.device_id) },
    { name: 'Data', cell: ({ data }) => code(JSON.stringify(data)), isWide: true },
    { name: 'Sequence', cell: ({ seq }) => seq, isNumber: true, isWide: true },
  ]);
}
