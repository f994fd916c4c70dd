/** Reading the log over real sockets, while devices come and go. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ApiAnswer, ApiCall } from '../support/api-client.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

interface EventJson {
  readonly type: string;
  readonly device_id: string;
  readonly seq: number;
  readonly epoch: number | null;
  readonly data: Record<string, unknown>;
}

interface PageJson {
  readonly events: readonly EventJson[];
  readonly next: string;
  readonly truncated: boolean;
}

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

function read(query: string, call: ApiCall = {}, from = server): Promise<ApiAnswer> {
  return from.api.call({ path: '/v1/events', query, ...call });
}

async function page(query: string, call: ApiCall = {}, from = server): Promise<PageJson> {
  const { status, json, text } = await read(query, call, from);
  assert.deepEqual([status, json.code], [200, 0], text);
  return json.data as unknown as PageJson;
}

const stamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/;

test('a waiting reader is told of a controller that comes online, with all that belongs to it', async () => {
  const { next } = await page('after=latest');
  const answer = page(`after=${next}&wait=30`);
  const controller = await server.controller('TESTDEVICE01', { media: { codecs: ['h264'] } });
  const { events, truncated } = await answer;
  assert.deepEqual([events.length, truncated], [1, false]);
  const [event] = events;
  assert.ok(event !== undefined);
  assert.deepEqual(Object.keys(event), ['id', 'type', 'at', 'device_id', 'seq', 'epoch', 'data']);
  const { id, at, data, ...rest } = event as EventJson & { id: string; at: string };
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.match(at, stamp);
  assert.deepEqual(rest, { type: 'device.signal.online', device_id: 'TESTDEVICE01', seq: 1, epoch: 1 });
  assert.deepEqual(Object.keys(data), ['session', 'node', 'replaced', 'media']);
  assert.deepEqual([data['replaced'], data['media']], [false, { codecs: ['h264'] }]);
  await controller.bye('asleep');
});

test("an application is told of its own products' devices only", async () => {
  const other = { credential: server.credentials.other };
  const { next } = await page('after=latest', other);
  const answer = page(`after=${next}&wait=30`, other);
  const [mine, theirs] = [await server.module('SLEEPING02'), await server.module('FOREIGN01')];
  assert.deepEqual(
    (await answer).events.map(({ device_id }) => device_id),
    ['FOREIGN01'],
  );
  const seen = await page('limit=1000');
  assert.ok(seen.events.length > 0);
  assert.ok(seen.events.every(({ device_id }) => device_id !== 'FOREIGN01'));
  await mine.close();
  await theirs.close();
});
