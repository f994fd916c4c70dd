/**
 * Sends every answer that the tests of the document provoke, success or refusal, through Prism, which finds no deviation from the
 * document.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { ApiClient, sendBy, type SentRequest } from '../support/api-client.ts';
import { testCredentials } from '../support/test-server.ts';
import { splitViolations, ValidatingProxy } from './validating-proxy.ts';

const proxy = await ValidatingProxy.start({ after });

/** Codes of invalid requests, which Prism must reject too. */
const faultsOfRequests = new Set([40003, 40105, 40400, 40500, 41500]);
let seen = 0;

sendBy(async (request, sendTo) => {
  if (!isForwarded(request)) return sendTo(request.port);
  const { answer, violations } = splitViolations(await sendTo(proxy.before(request.port)));
  const { code = NaN } = answer.json;
  const wrong = violations.filter(({ location }) => location[0] !== 'request' || !faultsOfRequests.has(code));
  assert.deepEqual(wrong, [], `${request.method} ${answer.status}: ${answer.text}`);
  seen += 1;
  return answer;
});

/** Prism does not forward requests of unknown length, HEAD, a GET with a body, or a body that is not JSON. */
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

test('Prism forwarded the answers', () => {
  assert.ok(seen > 100, `${seen} answers`);
});

test('Prism detects an undocumented answer', async (t) => {
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
