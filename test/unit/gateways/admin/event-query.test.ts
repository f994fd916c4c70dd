import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsQuery, type EventsRequest } from '../../../../src/gateways/admin/event-query.ts';
import { readRoute } from '../../../../src/gateways/ops/admin-route.ts';
import { askRoute } from '../../../support/ask-route.ts';

const id = '01a2b3c4-0000-7000-8000-000000000003';

async function parse(query: string): Promise<Partial<EventsRequest> & { readonly error?: string }> {
  const route = readRoute('/v1/events', eventsQuery, async (request) => request);
  const { body } = await askRoute([route], 'GET', '/v1/events', query);
  return body as Partial<EventsRequest> & { readonly error?: string };
}

test('an empty query reads from the oldest event, a hundred per page, without waiting', async () => {
  const whole = { start: {}, filter: { deviceId: null, types: null }, limit: 100, waitMs: 0 };
  assert.deepEqual(await parse(''), whole);
});

test('each way to begin is parsed', async () => {
  const cases: [query: string, start: object][] = [
    ['after=7', { after: 7 }],
    ['since=1800000000000', { since: 1_800_000_000_000 }],
    [`since=${id}`, { since: id }],
    ['last=20', { last: 20 }],
    ['last=0', { last: 0 }],
    ['last=20&before=5', { last: 20, before: 5 }],
  ];
  for (const [query, start] of cases) assert.deepEqual((await parse(query)).start, start, query);
});

test('types are given by name and by prefix, together', async () => {
  const { filter, waitMs, limit } = await parse(
    'type=device.wakeup.*&type=device.sleep.login&device_id=a%20b&wait=30&limit=1000',
  );
  assert.deepEqual([...(filter?.types ?? [])].toSorted(), [
    'device.sleep.login',
    'device.wakeup.accepted',
    'device.wakeup.completed',
    'device.wakeup.expired',
    'device.wakeup.failed',
  ]);
  assert.deepEqual([filter?.deviceId, waitMs, limit], ['a b', 30_000, 1000]);
});

test('an invalid value is refused and its field is named', async () => {
  const cases: [query: string, said: RegExp][] = [
    ['after=-1', /^after:/],
    ['after=x', /^after:/],
    ['since=yesterday', /^since:/],
    ['last=1001', /^last:.*1000/],
    ['last=1&before=0', /^before:/],
    ['after=1&last=1', /one of them/],
    ['limit=0', /^limit:/],
    ['limit=1001', /^limit:/],
    ['wait=31', /^wait:/],
    ['wait=', /^wait:/],
    ['device_id=', /^device_id:/],
    [`device_id=${'x'.repeat(256)}`, /^device_id:/],
    ['type=device.sleep', /^type\.0:.*device\.sleep/],
    ['type=nothing.*', /^type\.0:/],
    ['type=*&'.repeat(33), /^type:/],
  ];
  for (const [query, said] of cases) assert.match((await parse(query)).error ?? 'accepted', said, query);
});
