import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import type { DeviceId, RequestId, SessionId } from '../../../../src/model/ids.ts';
import { eventsPageCharactersMax } from '../../../../src/model/limits.ts';
import {
  decodeCursor,
  encodeEvent,
  decodeEventsQuery,
  encodeEventPage,
  type EventsQuery,
} from '../../../../src/protocol/rest/events.ts';
import { encodeCursor } from '../../../support/event-cursors.ts';
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
  ['wait=31', /^wait /],
  ['limit=1&limit=1', /twice/],
  ['wait=%', /^query/],
];
for (const [query, message] of bad) {
  test(`the query "${query}" is refused with the fault`, () => {
    const decoded = decodeEventsQuery(query);
    assert.ok(!decoded.ok);
    assert.match(decoded.error, message);
  });
}

test('a page has the texts of its events in order', () => {
  const events = [anEvent(1), anEvent(4)];
  assert.equal(
    encodeEventPage({ events, next: 9, truncated: false }),
    `{"events":[${events.map(encodeEvent).join(',')}],"next":"${encodeCursor(9)}","truncated":false}`,
  );
});

/** The JSON text is longer than this. */
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

test('an oversized page ends early, and its cursor before the first omitted event', () => {
  const third = Math.floor(eventsPageCharactersMax / 3);
  const events = [2, 4, 6, 8].map((sequence) => largeEvent(sequence, third));
  const page = JSON.parse(encodeEventPage({ events, next: 20, truncated: false })) as PageJson;
  assert.deepEqual(
    page.events.map(({ id }) => id),
    ['event-2', 'event-4'],
  );
  assert.equal(decodeCursor(page.next), 5);
});

test('an event larger than a page is returned alone', () => {
  const events = [largeEvent(2, eventsPageCharactersMax), anEvent(3)];
  const page = JSON.parse(encodeEventPage({ events, next: 20, truncated: false })) as PageJson;
  assert.deepEqual(
    page.events.map(({ id }) => id),
    ['event-2'],
  );
  assert.equal(decodeCursor(page.next), 2);
});

/** Version and sequence encoded by hand. */
function cursorOf(version: number, sequence: bigint): string {
  const bytes = Buffer.from([
    version,
    ...Array.from({ length: 8 }, (_, i) => Number((sequence >> BigInt(56 - 8 * i)) & 0xffn)),
  ]);
  return bytes.toString('base64url');
}

const sequences = [0, 1, 255, 256, 2 ** 31, 2 ** 32 + 7, 10_000_000, Number.MAX_SAFE_INTEGER];
for (const sequence of sequences) {
  test(`a cursor after event ${sequence} has twelve characters and decodes to it`, () => {
    const cursor = encodeCursor(sequence);
    assert.equal(cursor, cursorOf(1, BigInt(sequence)));
    assert.match(cursor, /^[A-Za-z0-9_-]{12}$/);
    assert.equal(decodeCursor(cursor), sequence);
  });
}

const malformed: [string, string][] = [
  ['empty', ''],
  ['a plain number', '17'],
  ['too short', encodeCursor(17).slice(1)],
  ['too long', `${encodeCursor(17)}A`],
  ['padded', `${encodeCursor(17)}=`],
  ['of the other base64', '+/+/+/+/+/+/'],
  ['with a line feed behind', `${encodeCursor(17)}\n`],
  ['with a space in it', `AQAAAAAA AAR`],
  ['of version 0', cursorOf(0, 17n)],
  ['of version 2', cursorOf(2, 17n)],
  ['beyond every sequence', cursorOf(1, 2n ** 53n)],
  ['as large as can be', cursorOf(1, 2n ** 64n - 1n)],
];
for (const [name, text] of malformed) {
  test(`a cursor that is ${name} is refused`, () => {
    assert.equal(decodeCursor(text), null);
  });
}

test('an event is encoded in the order of the contract, with milliseconds and a numeric offset', () => {
  assert.equal(
    encodeEvent(anEvent(7)),
    '{"id":"event-7","type":"device.wakeup.expired","at":"2026-11-20T08:30:00.123+00:00",' +
      '"device_id":"TESTDEVICE01","seq":7,"epoch":4,"data":{"request_id":"ring-7"}}',
  );
});

test('an event of no connection has a null epoch, and names that need it are escaped', () => {
  const event: LoggedEvent = {
    ...anEvent(1),
    type: 'call.state',
    deviceId: 'a"b\\c\u0001é' as DeviceId,
    epoch: null,
    data: { session: 'room "1"' as SessionId, state: 'ringing', reason: null },
  };
  const read = JSON.parse(encodeEvent(event)) as Record<string, unknown>;
  assert.equal(read['device_id'], event.deviceId);
  assert.equal(read['epoch'], null);
  assert.deepEqual(read['data'], event.data);
});

test('an event is encoded once for all readers', () => {
  let written = 0;
  const event: LoggedEvent = {
    ...anEvent(1),
    type: 'device.wakeup.expired',
    data: {
      get request_id() {
        written += 1;
        return 'ring' as RequestId;
      },
    },
  };
  assert.equal(encodeEvent(event), encodeEvent(event));
  assert.equal(written, 1);
});
