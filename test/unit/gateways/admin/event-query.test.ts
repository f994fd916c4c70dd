import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEventsRequest } from '../../../../src/gateways/admin/event-query.ts';

const id = '01a2b3c4-0000-7000-8000-000000000003';

function parse(query: string): ReturnType<typeof parseEventsRequest> {
  return parseEventsRequest(new URLSearchParams(query));
}

test('nothing asked is everything from the oldest, a page of a hundred, without waiting', () => {
  assert.deepEqual(parse(''), {
    ok: true,
    value: {
      start: { kind: 'after', after: null },
      filter: { deviceId: null, types: null },
      limit: 100,
      waitMs: 0,
    },
  });
});

test('each way to begin is understood', () => {
  const cases: [query: string, start: object][] = [
    ['after=7', { kind: 'after', after: 7 }],
    ['since=1800000000000', { kind: 'since', since: 1_800_000_000_000 }],
    [`since=${id}`, { kind: 'since', since: id }],
    ['last=20', { kind: 'last', count: 20, before: null }],
    ['last=0', { kind: 'last', count: 0, before: null }],
    ['last=20&before=5', { kind: 'last', count: 20, before: 5 }],
  ];
  for (const [query, start] of cases) {
    const parsed = parse(query);
    assert.deepEqual(parsed.ok && parsed.value.start, start, query);
  }
});

test('types are taken by name and by their beginning, together', () => {
  const parsed = parse('type=device.wakeup.*&type=device.sleep.login&device_id=a%20b&wait=30&limit=1000');
  assert.ok(parsed.ok);
  const { filter, waitMs, limit } = parsed.value;
  assert.deepEqual([...(filter.types ?? [])].toSorted(), [
    'device.sleep.login',
    'device.wakeup.accepted',
    'device.wakeup.completed',
    'device.wakeup.expired',
    'device.wakeup.failed',
  ]);
  assert.deepEqual([filter.deviceId, waitMs, limit], ['a b', 30_000, 1000]);
});

test('what cannot be is refused and named', () => {
  const cases: [query: string, said: RegExp][] = [
    ['after=-1', /^after:/],
    ['after=x', /^after:/],
    ['since=yesterday', /^since:/],
    ['last=1001', /^last: .* 0 to 1000/],
    ['last=1&before=0', /^before:/],
    ['after=1&last=1', /one of them/],
    ['limit=0', /^limit:/],
    ['limit=1001', /^limit:/],
    ['wait=31', /^wait:/],
    ['wait=', /^wait:/],
    ['device_id=', /^device_id:/],
    [`device_id=${'x'.repeat(256)}`, /^device_id:/],
    ['type=device.sleep', /^type:.*device\.sleep/],
    ['type=nothing.*', /^type:/],
    ['type=*&'.repeat(33), /^type: at most 32/],
  ];
  for (const [query, said] of cases) {
    const parsed = parse(query);
    assert.match(parsed.ok ? 'taken' : parsed.error, said, query);
  }
});
