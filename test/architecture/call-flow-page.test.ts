/** Compares docs/call-flow.md with the code: its examples are valid, and it covers every code of the API. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointCodes } from '../../src/model/codes.ts';
import { readFromRoot } from '../support/checkout.ts';
import { decodeCallBody } from '../support/call-bodies.ts';

const page = readFromRoot('docs/call-flow.md');
const examples = [...page.matchAll(/^```json\n([^]*?)^```$/gm)].map(([, text = '']) => text);

test('every example is JSON', () => {
  assert.ok(examples.length >= 7);
  for (const text of examples) assert.doesNotThrow(() => void JSON.parse(text), text);
});

test('the request for credentials is valid', () => {
  const body = examples.find((text) => text.includes('"msg_session_key"')) ?? '';
  const decoded = decodeCallBody(Buffer.from(body), 'allow', () => null);
  assert.equal(decoded.ok, true, JSON.stringify(decoded));
});

test('the table has each code of the endpoints that a call uses', () => {
  const [, table = ''] = /^## Codes and their handling\n([^]*?)^## /m.exec(page) ?? [];
  const { events: _, ...used } = endpointCodes;
  const missing = [...Object.values(used).flat(), 40105].filter((code) => !table.includes(String(code)));
  assert.deepEqual(missing, []);
});
