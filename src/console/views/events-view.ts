/** The live feed of events: the newest first, those of a device or of some types. */
import type { EventsAnswer, WireEvent } from '../../gateways/admin/event-query.ts';
import { code, el } from '../dom.ts';
import { dataTable, searchField, searchForm } from '../lists.ts';
import { deviceLink, moment, poll, Trouble, type Page, type View } from '../page.ts';
import { plural } from '../text.ts';

const everyMs = 1000;
const keptMax = 500;

export function openEvents(page: Page, query: URLSearchParams): View {
  const filter = { device_id: query.get('device_id'), type: query.get('type') };
  const trouble = new Trouble();
  const state = el('p', { class: 'faint', role: 'status' }, 'Looking …');
  const list = el('div');
  let events: readonly WireEvent[] = [];
  let after: number | null = null;
  const look = async (): Promise<void> => {
    const start = after === null ? { last: keptMax } : { after, limit: keptMax };
    const answer = await page.client.read<EventsAnswer>('/v1/events', { ...start, ...filter });
    const isFirst = after === null;
    after = answer.next;
    if (!isFirst && answer.events.length === 0) return;
    events = [...answer.events.toReversed(), ...events].slice(0, keptMax);
    state.textContent = `The latest ${plural(events.length, 'event')}, live; ${keptMax} are kept here.`;
    list.replaceChildren(events.length === 0 ? el('p', {}, 'No event yet.') : tableOf(events));
  };
  const form = searchForm('events', 'Show', [
    ['Device', searchField('device_id', query)],
    ['Type', searchField('type', query, 'device.wakeup.*')],
  ]);
  const close = poll(everyMs, look, trouble.show);
  return { title: 'Events', content: el('div', {}, form, trouble.element, state, list), close };
}

function tableOf(events: readonly WireEvent[]): HTMLElement {
  return dataTable('Events', events, [
    { name: 'When', cell: ({ at }) => moment(Date.parse(at)) },
    { name: 'Event', cell: ({ type }) => code(type) },
    { name: 'Device', cell: (event) => deviceLink(event.device_id) },
    { name: 'Data', cell: ({ data }) => code(JSON.stringify(data)), isWide: true },
    { name: 'Sequence', cell: ({ seq }) => seq, isNumber: true, isWide: true },
  ]);
}
