/** Tests the event log check on which crash tests rely: it finds every fault that it should find. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkLog, type PublishedEvent } from '../../support/event-log-check.ts';

const about = { at: '2026-11-20T08:30:00.000+00:00', device_id: 'D1' };
const data = { session: 's1', node: 'node-1' };
const sound: readonly PublishedEvent[] = [
  { ...about, id: '1', seq: 1, epoch: 1, type: 'device.signal.online', data: { ...data, replaced: false } },
  { ...about, id: '2', seq: 2, epoch: 1, type: 'device.wakeup.accepted', data: { request_id: 'r1' } },
  {
    ...about,
    id: '3',
    seq: 3,
    epoch: 1,
    type: 'device.signal.offline',
    data: { ...data, reason: 'node_lost' },
  },
  { ...about, id: '4', seq: 4, epoch: 1, type: 'device.wakeup.expired', data: { request_id: 'r1' } },
];

function changed(place: number, change: Partial<PublishedEvent>): PublishedEvent[] {
  return sound.map((event, i) => (i === place ? { ...event, ...change } : event));
}

const spoiled: Readonly<Record<string, readonly PublishedEvent[]>> = {
  'a gap in seq': changed(3, { seq: 5 }),
  'a repeated seq': changed(3, { seq: 3 }),
  'an event published twice': [...sound, ...sound.slice(-1)],
  'an epoch given again': [
    ...sound,
    { ...sound[0], id: '5', seq: 5, data: { ...data, replaced: false } } as PublishedEvent,
  ],
  'a takeover that was not published': [
    ...sound.slice(0, 2),
    { ...sound[0], id: '5', seq: 3, epoch: 2, data: { session: 's2', replaced: false } } as PublishedEvent,
  ],
  'an end of what is not open': [...sound, { ...sound[2], id: '5', seq: 5 } as PublishedEvent],
  'the end of another session': changed(2, { data: { session: 's2', reason: 'reset' } }),
  'a second outcome of a wakeup': [...sound, { ...sound[3], id: '5', seq: 5 } as PublishedEvent],
  'an outcome of a wakeup that was not accepted': changed(3, { data: { request_id: 'r2' } }),
};

test('a correct log passes', () => {
  const { connections, wakeups } = checkLog(sound);
  assert.deepEqual(connections.signal.get('D1')?.nodeLost, 1);
  assert.deepEqual([...wakeups], [['r1', 'device.wakeup.expired']]);
});

for (const [name, events] of Object.entries(spoiled))
  test(`canary: ${name} is detected`, () => {
    assert.throws(() => checkLog(events), assert.AssertionError);
  });
