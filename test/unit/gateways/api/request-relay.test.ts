import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answerRelayed,
  RequestRelay,
  type RelayedRequest,
} from '../../../../src/gateways/api/request-relay.ts';
import type { RelayedAnswer } from '../../../../src/gateways/api/api-request.ts';
import { relayedRequestsMax } from '../../../../src/model/upgrade-limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeResponse, fakeRequest } from '../../../support/fake-http.ts';
import type { HttpResponse } from '../../../../src/lib/uws.ts';

const answer: RelayedAnswer = { status: '202 Accepted', headers: ['X-One', 'a'], body: '{"code":0}' };

function relayOf(own: (response: HttpResponse) => void = () => assert.fail('nothing is answered here')): {
  readonly relay: RequestRelay;
  readonly ask: (path: string) => FakeResponse;
} {
  const relay = new RequestRelay(new DrivenClock(), own);
  const ask = (path: string): FakeResponse => {
    const response = new FakeResponse();
    relay.handle(response, fakeRequest('GET', path, { host: 'api' }, 'a=1'));
    return response;
  };
  return { relay, ask };
}

test('requests are answered here until they are held', () => {
  let answered = 0;
  const { relay, ask } = relayOf(() => (answered += 1));
  ask('/one');
  assert.equal(answered, 1);
  relay.hold();
  ask('/two');
  assert.equal(answered, 1);
});

test('what was held is answered by the other process, in its order and as it came, and so is what comes later', async () => {
  const { relay, ask } = relayOf();
  relay.hold();
  const held = [ask('/one'), ask('/two')];
  const seen: RelayedRequest[] = [];
  relay.relayTo(async (request) => {
    seen.push(request);
    return answer;
  });
  const late = ask('/three');
  await relay.idle();
  for (const response of [...held, late]) {
    assert.equal(response.status, '202 Accepted');
    assert.equal(response.body, '{"code":0}');
  }
  assert.deepEqual(
    seen.map(({ path }) => path),
    ['/one', '/two', '/three'],
  );
  const [first] = seen;
  const headers = ['host', 'api'];
  assert.deepEqual(first, {
    method: 'GET',
    path: '/one',
    query: 'a=1',
    headers,
    body: '',
    address: '192.0.2.1',
  });
});

test('a request whose other process is gone has its connection closed, and one whose peer is gone is not touched', async () => {
  const { relay, ask } = relayOf();
  relay.hold();
  const [stays, goes] = [ask('/one'), ask('/two')];
  goes.hangUp();
  relay.relayTo(() => Promise.resolve(null));
  await relay.idle();
  assert.equal(stays.closed, true);
  assert.equal(goes.closed, false);
});

test('a request that is relayed to a server on its way out is held there, and answered by the process behind it', async () => {
  const { relay: before, ask } = relayOf();
  const { relay: between } = relayOf();
  before.hold();
  before.relayTo((request) => answerRelayed(between.handle, request));
  between.hold();
  const response = ask('/one');
  between.relayTo(async () => answer);
  await before.idle();
  assert.equal(response.status, '202 Accepted');
  assert.equal(response.body, '{"code":0}');
});

test('a HEAD is answered here while others are held, because no route takes one', () => {
  let answered = 0;
  const { relay } = relayOf(() => (answered += 1));
  relay.hold();
  relay.handle(new FakeResponse(), fakeRequest('HEAD', '/one', { host: 'api' }));
  assert.equal(answered, 1);
});

test('more than may be held is told to come again', () => {
  const { relay, ask } = relayOf();
  relay.hold();
  for (let held = 0; held < relayedRequestsMax; held++) ask('/held');
  const refused = ask('/one-more');
  assert.equal(refused.status, '503 Service Unavailable');
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.equal(refused.json['code'], 50301);
});

test('a relayed request is one of the front end to whoever answers it', async () => {
  const request: RelayedRequest = {
    method: 'POST',
    path: '/v1/x',
    query: 'q=2',
    headers: ['content-length', '4'],
    body: Buffer.from('body').toString('base64'),
    address: '192.0.2.1',
  };
  const told = await answerRelayed((response, incoming) => {
    const seen: string[] = [incoming.getCaseSensitiveMethod(), incoming.getUrl(), incoming.getQuery() ?? ''];
    incoming.forEach((name, value) => void seen.push(name, value));
    seen.push(Buffer.from(response.getRemoteAddressAsText()).toString());
    response.onData((chunk, isLast) => {
      seen.push(Buffer.from(chunk).toString(), String(isLast));
      response.cork(() => {
        response.writeStatus('404 Not Found');
        response.writeHeader('X-Two', 'b');
        response.end(seen.join(' '), true);
      });
    });
  }, request);
  assert.deepEqual(told, {
    status: '404 Not Found',
    headers: ['X-Two', 'b'],
    body: 'POST /v1/x q=2 content-length 4 192.0.2.1 body true',
  });
  assert.equal(await answerRelayed((response) => response.close(), request), null);
});
