/** Batches of connectivity queries over real HTTP: errors, access rights and rate limits. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { batchDevicesMax } from '../../src/model/limits.ts';
import type { ApiAnswer, ApiCall } from '../support/api-client.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const batch: ApiCall = { method: 'POST', path: '/v1/devices/connectivity' };

function ask(deviceIds: unknown, call: ApiCall = {}, from = server): Promise<ApiAnswer> {
  return from.api.call({ ...batch, body: JSON.stringify({ device_ids: deviceIds }), ...call });
}

interface Entry {
  readonly device_id: string;
  readonly code: number;
  readonly message: string;
  readonly data?: object;
}

function entriesOf({ status, json, text }: ApiAnswer): readonly Entry[] {
  assert.deepEqual([status, json.code], [200, 0], text);
  return (json.data as { readonly devices: readonly Entry[] }).devices;
}

test('each entry equals the single query of its device, in the order of the request', async () => {
  const module = await server.module('SLEEPING01');
  const controller = await server.controller('a b c+');
  const ids = ['a b c+', 'NOBODY', 'SLEEPING01', 'TESTDEVICE01', 'FOREIGN01', 'EXPIRED01', 'SLEEPING01'];
  const entries = entriesOf(await ask(ids));
  assert.deepEqual(
    entries.map(({ device_id: id }) => id),
    ids,
  );
  for (const { device_id: id, ...envelope } of entries)
    assert.deepEqual(envelope, (await server.api.connectivity(id)).json, id);
  await controller.close();
  await module.close();
});

const wrong: readonly (readonly [name: string, body: string, message: RegExp])[] = [
  ['an empty body', '', /^body: /],
  ['an array', '["TESTDEVICE01"]', /^body: /],
  ['no list', '{}', /^device_ids is missing$/],
  ['a list that is none', '{"device_ids":"TESTDEVICE01"}', /^device_ids must be an array$/],
  ['a list that is an object', '{"device_ids":{"0":"TESTDEVICE01"}}', /^device_ids must be an array$/],
  ['a list of nothing', '{"device_ids":[]}', /^device_ids must contain 1-500 device ids$/],
  [
    'an id too many',
    JSON.stringify({ device_ids: Array(batchDevicesMax + 1).fill('D') }),
    /1-500 device ids$/,
  ],
  ['a number among the ids', '{"device_ids":["D",7]}', /^device_ids\[1\] must be a string$/],
  ['null among the ids', '{"device_ids":["D","E",null]}', /^device_ids\[2\] must be a string$/],
  ['a lone surrogate', '{"device_ids":["\\ud800"]}', /UTF-8/],
];
for (const [name, body, message] of wrong)
  test(`a batch with ${name} is 40003 as a whole`, async () => {
    const { status, json } = await server.api.call({ ...batch, body });
    assert.deepEqual([status, json.code, json.data], [200, 40003, undefined]);
    assert.match(String(json['message']), message);
  });

test('a batch counts one query per id, also beyond the burst; an invalid batch counts as one', async () => {
  const limited = await startTestServer({ overrides: ['limits.queries_per_second=0.01'] });
  try {
    entriesOf(await ask(['D', 'D', 'D'], {}, limited));
    const refused = await ask(['D'], {}, limited);
    assert.deepEqual([refused.status, refused.json.code, refused.json.data], [200, 42901, undefined]);
    const seconds = Number(refused.headers['retry-after']);
    assert.ok(seconds > 250 && seconds <= 300, `until one is there: ${seconds}`);
    assert.equal((await limited.api.connectivity('TESTDEVICE01')).json.code, 42901);
    const { other: credential } = limited.credentials;
    assert.equal((await ask([], { credential }, limited)).json.code, 40003);
    assert.equal((await ask(['FOREIGN01'], { credential }, limited)).json.code, 42901);
  } finally {
    await limited.stop();
  }
});
