import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import type { RequestId } from '../../../../src/model/ids.ts';
import { eventsPageCharactersMax } from '../../../../src/model/limits.ts';
import { decodeCursor, encodeCursor } from '../../../../src/protocol/rest/cursor.ts';
import { encodeEvent } from '../../../../src/protocol/rest/event-json.ts';
import {
  decodeEventsQuery,
  encodeEventPage,
  type EventsQuery,
} from '../../../../src/protocol/rest/events.ts';
import { anEvent } from '../../../support/scripted-event-log.ts';

const defaults: EventsQuery = { start: 'oldest', limit: 100, waitMs: 0 };
const cursor = encodeCursor(17);

const good: [string, Partial<EventsQuery>][] = [
  ['', {}],
  ['colour=red', {}],
  [`after=${cursor}`, { start: 17 }],
  [`after=${encodeCursor(0)}`, { start: 0 }],
  ['after=latest', { start: 'latest' }],
  ['limit=1', { limit: 1 }],
  ['limit=1000', { limit: 1000 }],
  ['limit=0100', { limit: 100 }],
  ['wait=0', { waitMs: 0 }],
  ['wait=30', { waitMs: 30_000 }],
  ['wait=30.000', { waitMs: 30_000 }],
  ['wait=0.001', { waitMs: 1 }],
  ['wait=1.005', { waitMs: 1005 }],
  ['wait=2.5', { waitMs: 2500 }],
  [`after=${cursor}&limit=5&wait=1`, { start: 17, limit: 5, waitMs: 1000 }],
  ['after=l%61test&wait=%31', { start: 'latest', waitMs: 1000 }],
];
for (const [query, values] of good) {
  test(`the query "${query}" is read`, () => {
    assert.deepEqual(decodeEventsQuery(query), { ok: true, value: { ...defaults, ...values } });
  });
}

const bad: [string, RegExp][] = [
  ['after=', /^after /],
  ['after', /^after /],
  ['after=LATEST', /^after /],
  ['after=oldest', /^after /],
  ['after=17', /^after /],
  [`after=${cursor}=`, /^after /],
  [`after=${cursor}%0A`, /^after /],
  ['limit=', /^limit /],
  ['limit=0', /^limit /],
  ['limit=1001', /^limit /],
  ['limit=10000', /^limit /],
  ['limit=-1', /^limit /],
  ['limit=+1', /^limit /],
  ['limit=1.0', /^limit /],
  ['limit=1e2', /^limit /],
  ['limit=0x10', /^limit /],
  ['limit=%D9%A1', /^limit /],
  ['wait=', /^wait /],
  ['wait=30.001', /^wait /],
  ['wait=31', /^wait /],
  ['wait=-1', /^wait /],
  ['wait=1.', /^wait /],
  ['wait=.5', /^wait /],
  ['wait=0.0001', /^wait /],
  ['wait=1e1', /^wait /],
  ['wait=NaN', /^wait /],
  ['wait=Infinity', /^wait /],
  ['wait=1,5', /^wait /],
  ['wait=1%20', /^wait /],
  ['limit=1&limit=1', /twice/],
  ['wait=%', /^query/],
];
for (const [query, message] of bad) {
  test(`the query "${query}" is refused with what is wrong`, () => {
    const decoded = decodeEventsQuery(query);
    assert.ok(!decoded.ok);
    assert.match(decoded.error, message);
  });
}

test('an empty page is written whole', () => {
  assert.equal(
    encodeEventPage({ events: [], next: 17, truncated: true }),
    `{"events":[],"next":"${cursor}","truncated":true}`,
  );
});

test('a page holds the texts of its events in their order', () => {
  const events = [anEvent(1), anEvent(4)];
  assert.equal(
    encodeEventPage({ events, next: 9, truncated: false }),
    `{"events":[${events.map(encodeEvent).join(',')}],"next":"${encodeCursor(9)}","truncated":false}`,
  );
});

/** Its text is longer than this. */
function largeEvent(sequence: number, characters: number): LoggedEvent {
  return {
    ...anEvent(sequence),
    type: 'device.wakeup.expired',
    data: { request_id: 'x'.repeat(characters) as RequestId },
  };
}

interface PageJson {
  readonly events: readonly { readonly id: string }[];
  readonly next: string;
}

test('a page too large ends early, and its cursor before the first event left out', () => {
  const third = Math.floor(eventsPageCharactersMax / 3);
  const events = [2, 4, 6, 8].map((sequence) => largeEvent(sequence, third));
  const page = JSON.parse(encodeEventPage({ events, next: 20, truncated: false })) as PageJson;
  assert.deepEqual(
    page.events.map(({ id }) => id),
    ['event-2', 'event-4'],
  );
  assert.equal(decodeCursor(page.next), 5);
});

test('an event larger than a page is told all the same, alone', () => {
  const events = [largeEvent(2, eventsPageCharactersMax), anEvent(3)];
  const page = JSON.parse(encodeEventPage({ events, next: 20, truncated: false })) as PageJson;
  assert.deepEqual(
    page.events.map(({ id }) => id),
    ['event-2'],
  );
  assert.equal(decodeCursor(page.next), 2);
});
