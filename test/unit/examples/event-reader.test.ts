/** What the example backend takes from the log of events, against a log that says what the test does. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Capabilities } from '../../../docs/examples/backend/capabilities.ts';
import { EventReader } from '../../../docs/examples/backend/event-reader.ts';
import type { ApiEvent, FollowOptions } from '../../../src/client/reveille-client.ts';

type EventApi = ConstructorParameters<typeof EventReader>[0];

const otherwise = { no_video: true, audio_rate: 8000, audio_channels: 1 } as const;

function online(device_id: string, media?: object): ApiEvent {
  const data = { session: 's', node: 'n', replaced: false, ...(media === undefined ? {} : { media }) };
  return {
    id: 'e',
    at: 'now',
    device_id,
    seq: 1,
    epoch: 1,
    type: 'device.signal.online',
    data,
  } as unknown as ApiEvent;
}

const ended = {
  id: 'e',
  at: 'now',
  device_id: 'D1',
  seq: 2,
  epoch: null,
  type: 'call.ended',
  data: { session: 's-1', state: 'ended', reason: 'hangup_phone' },
} as unknown as ApiEvent;

let capabilities: Capabilities;
let steps: string[];
let followedFrom: string | undefined | null;

beforeEach(() => {
  capabilities = new Capabilities(otherwise);
  steps = [];
  followedFrom = null;
});

/** `pages`: what is there at the start, by cursor; `live`: what comes then. The follow lasts until it is aborted. */
function readerOf(
  pages: readonly (readonly ApiEvent[])[] | number,
  live: readonly ApiEvent[] = [],
): EventReader {
  const events: EventApi['events'] = (asked) => {
    if (typeof pages === 'number')
      return Promise.resolve({ ok: false, requestId: 'r', code: pages, message: 'no' } as never);
    const place = Number(asked?.after ?? 0);
    const next = String(Math.min(place + 1, pages.length));
    return Promise.resolve({
      ok: true,
      data: { events: pages[place] ?? [], next, truncated: false },
    } as never);
  };
  async function* followEvents({ after, signal }: FollowOptions = {}): AsyncGenerator<
    never,
    void,
    undefined
  > {
    followedFrom = after;
    for (const event of live) yield { event, cursor: 'c', truncated: false } as never;
    await new Promise((resolve) => signal?.addEventListener('abort', resolve));
  }
  const log = (step: string, fields: object = {}): void =>
    void steps.push(`${step} ${JSON.stringify(fields)}`);
  return new EventReader({ events, followEvents }, capabilities, log);
}

async function noted(deviceId: string): Promise<void> {
  while (capabilities.of(deviceId) === otherwise) await new Promise(setImmediate);
}

test('what devices reported before is read to its end, and followed from there', async () => {
  const reader = readerOf([
    [online('D1', { screen_width: 1 })],
    [],
    [online('D2'), online('D1', { screen_width: 2 })],
  ]);
  await reader.caughtUp;
  assert.equal(capabilities.of('D1').screen_width, 2);
  assert.equal(capabilities.of('D2'), otherwise);
  await reader.stop();
  assert.equal(followedFrom, '3');
});

test('a device that signs in is noted', async () => {
  const reader = readerOf([], [online('D1', { no_video: false })]);
  await noted('D1');
  assert.equal(capabilities.of('D1').no_video, false);
  await reader.stop();
});

test('how calls go is told as it happens', async () => {
  const reader = readerOf([[ended]], [ended, online('D2', { no_video: false })]);
  await noted('D2');
  assert.deepEqual(steps, [
    'call.ended {"device":"D1","session":"s-1","state":"ended","reason":"hangup_phone"}',
  ]);
  await reader.stop();
});

test('a server that is not there yet is asked again', async () => {
  let asked = 0;
  const events: EventApi['events'] = () => {
    asked += 1;
    if (asked === 1) return Promise.reject(new Error('nobody there'));
    return Promise.resolve({ ok: true, data: { events: [], next: 'c', truncated: false } } as never);
  };
  async function* followEvents(): AsyncGenerator<never, void, undefined> {}
  const reader = new EventReader({ events, followEvents }, capabilities, (step) => void steps.push(step), 0);
  await reader.caughtUp;
  assert.deepEqual([asked, steps], [3, ['events.trouble']]);
  await reader.stop();
});

test('a log that may not be read leaves every device with the default', async () => {
  const reader = readerOf(40301);
  await reader.caughtUp;
  assert.equal(capabilities.of('D1'), otherwise);
  assert.deepEqual(steps, ['events.refused {"code":40301,"request_id":"r"}']);
  await reader.stop();
});

test('a device that reports nothing any more has the default again', () => {
  capabilities.note('D1', { audio_channels: 2 });
  assert.deepEqual(capabilities.of('D1'), { audio_rate: 8000, audio_channels: 2 });
  capabilities.note('D1', undefined);
  assert.equal(capabilities.of('D1'), otherwise);
});

test('capabilities of 10 000 devices are kept; the one that signed in longest ago is forgotten', () => {
  for (let count = 0; count <= 10_000; count += 1) capabilities.note(`D${count}`, { audio_channels: 2 });
  assert.equal(capabilities.of('D0'), otherwise);
  assert.equal(capabilities.of('D1').audio_channels, 2);
});
