/** Tests that device lists of any length are split into requests within the API's limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchDevicesMax, bodyBytesMax } from '../../../src/model/limits.ts';
import type { WireReply, WireRequest } from '../../../src/client/http-transport.ts';
import { playScript, refused, success } from '../../support/scripted-transport.ts';

function askedIn({ body }: WireRequest): string[] {
  const { device_ids: ids } = JSON.parse(Buffer.from(body ?? []).toString()) as { device_ids: string[] };
  return ids;
}

/** Answers every requested device. */
function answer(request: WireRequest): Promise<WireReply> {
  const devices = askedIn(request).map((id) => ({ device_id: id, code: 40403, message: 'none' }));
  return Promise.resolve(success({ devices }));
}

const ids = Array.from({ length: 2 * batchDevicesMax + 1 }, (_, index) => `D${index}`);

test('a list above the limit is split into several requests, and the answers are joined in order', async () => {
  const { client, transport } = playScript([answer, answer, answer]);
  const result = await client.connectivityOf(ids);
  assert.ok(result.ok);
  assert.deepEqual(
    result.data.devices.map(({ device_id: id }) => id),
    ids,
  );
  const sizes = transport.requests.map((request) => askedIn(request).length);
  assert.deepEqual(sizes, [batchDevicesMax, batchDevicesMax, 1]);
});

test('no body exceeds the limit of the server, whatever escapes its ids need in JSON', async () => {
  const long = Array.from({ length: batchDevicesMax }, () => '\u0001é"'.repeat(60).slice(0, 120));
  const { client, transport } = playScript(Array.from({ length: 20 }, () => answer));
  const result = await client.connectivityOf(long);
  assert.equal(result.ok && result.data.devices.length, long.length);
  assert.ok(transport.requests.length > 1);
  for (const { body } of transport.requests) assert.ok((body?.length ?? 0) <= bodyBytesMax);
});

test('the first refusal is the result, and ends the batch', async () => {
  const { client, transport } = playScript([answer, refused(40301)]);
  const result = await client.connectivityOf(ids);
  assert.equal(!result.ok && result.code, 40301);
  assert.equal(transport.requests.length, 2);
});
