/**
 * Every answer that the tests of the document provoke, success and refusal, seen by Prism on its way: it finds nothing that
 * the document does not say.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { ApiClient, sendBy, type SentRequest } from '../support/api-client.ts';
import { testCredentials } from '../support/test-server.ts';
import { takeViolations, ValidatingProxy } from './validating-proxy.ts';

const proxy = await ValidatingProxy.start({ after });

/** Codes that tell a caller that the request itself is wrong: Prism says so as well. */
const faultsOfRequests = new Set([40003, 40105, 40400, 40500, 41500]);
let seen = 0;

sendBy(async (request, sendTo) => {
  if (!isForwarded(request)) return sendTo(request.port);
  const { answer, violations } = takeViolations(await sendTo(proxy.before(request.port)));
  const { code = NaN } = answer.json;
  const wrong = violations.filter(({ location }) => location[0] !== 'request' || !faultsOfRequests.has(code));
  assert.deepEqual(wrong, [], `${request.method} ${answer.status}: ${answer.text}`);
  seen += 1;
  return answer;
});

/** Prism passes on nothing whose length it cannot read, no HEAD, no body of a GET, and no body that is no JSON. */
function isForwarded({ method, headers, body }: SentRequest): boolean {
  if (method === 'HEAD' || (method === 'GET' && body !== null)) return false;
  const { 'Content-Length': length, 'Transfer-Encoding': encoding } = headers;
  return encoding === undefined && !Array.isArray(length) && (body === null || isJson(body));
}

function isJson(body: Uint8Array): boolean {
  try {
    JSON.parse(Buffer.from(body).toString());
    return true;
  } catch {
    return false;
  }
}

await import('../e2e/openapi.test.ts');

test('the answers came by Prism', () => {
  assert.ok(seen > 100, `${seen} answers`);
});

test('Prism would see an answer that is not documented', async (t) => {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json; charset=utf-8');
    response.end('{"code":12345,"message":"x"}');
  });
  server.listen({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const api = new ApiClient((server.address() as AddressInfo).port, testCredentials.all);
  t.after(() => {
    api.close();
    server.close();
  });
  await assert.rejects(api.connectivity('X'), { name: 'AssertionError' });
});
