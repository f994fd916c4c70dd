import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnBudget } from '../../../../src/lib/token-bucket.ts';
import { ApiRequest, type Answer, type BodyRead } from '../../../../src/gateways/api/api-request.ts';
import { bodyReadMsMax } from '../../../../src/model/limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeResponse, fakeRequest } from '../../../support/fake-http.ts';

interface Scene {
  readonly clock: DrivenClock;
  readonly response: FakeResponse;
  readonly request: ApiRequest;
  readonly hangUps: () => number;
  readonly ended: () => number;
  /** The listener for `onGone`. */
  readonly listener: () => void;
}

function scene(): Scene {
  const clock = new DrivenClock();
  const response = new FakeResponse();
  let hangUps = 0;
  let ended = 0;
  const request = new ApiRequest(response, fakeRequest('GET', '/', {}), {
    clock,
    budget: new TurnBudget(1),
    ended: () => {
      ended += 1;
    },
  });
  request.identify(false);
  return {
    clock,
    response,
    request,
    hangUps: () => hangUps,
    ended: () => ended,
    listener: () => {
      hangUps += 1;
    },
  };
}

const answer: Answer = {
  status: 200,
  body: '{}',
  closeConnection: false,
};

test('a hang-up before the answer notifies the listener once and ends the exchange', () => {
  const { response, request, listener, hangUps, ended } = scene();
  request.onGone(listener);
  request.detach();
  response.hangUp();
  assert.deepEqual([hangUps(), ended(), request.isOpen], [1, 1, false]);
  request.answer(answer);
  request.abandon();
  assert.deepEqual([hangUps(), ended(), response.body], [1, 1, null]);
});

test('the listener may be set before or after the exchange is detached', () => {
  const { response, request, listener, hangUps } = scene();
  request.detach();
  request.onGone(listener);
  response.hangUp();
  assert.equal(hangUps(), 1);
});

test('a listener set after the hang-up is notified at once', () => {
  const { response, request, listener, hangUps } = scene();
  request.detach();
  response.hangUp();
  request.onGone(listener);
  assert.equal(hangUps(), 1);
});

test('an abort after the answer is not a hang-up', () => {
  const { response, request, listener, hangUps, ended } = scene();
  request.detach();
  request.onGone(listener);
  request.answer(answer);
  response.hangUp();
  assert.deepEqual([hangUps(), ended()], [0, 1]);
});

test('a listener set after the answer is not notified', () => {
  const { request, listener, hangUps } = scene();
  request.detach();
  request.answer(answer);
  request.onGone(listener);
  assert.equal(hangUps(), 0);
});

test('only one listener can be set', () => {
  const { request, listener } = scene();
  request.onGone(listener);
  assert.throws(() => request.onGone(listener), /one listener/);
});

for (const chunks of [['{"a":1}'], ['{"a"', ':', '1}']])
  test(`a body of ${chunks.length} chunks is read once`, () => {
    const { request, response } = scene();
    const results: BodyRead[] = [];
    request.detach();
    request.readBody(7, (result) => results.push(result));
    for (const [i, chunk] of chunks.entries()) response.receive(chunk, i === chunks.length - 1);
    response.receive('late', true);
    assert.deepEqual(results, ['read']);
    assert.equal(Buffer.from(request.body).toString(), '{"a":1}');
    request.readBody(7, (result) => results.push(result));
    assert.deepEqual(results, ['read', 'read']);
  });

test('a body that is too large, or that is not kept, leaves none', () => {
  for (const [bytesMax, keeps, expected] of [
    [6, true, 'too-large'],
    [7, false, 'read'],
  ] as const) {
    const { request, response } = scene();
    const results: BodyRead[] = [];
    request.readBody(bytesMax, (result) => results.push(result), keeps);
    response.receive('{"a":1}', true);
    assert.deepEqual([results, request.body.length], [[expected], 0]);
  }
});

test('a body that is late, or whose peer hangs up, is gone, once', () => {
  for (const end of [
    ({ clock }: Scene) => clock.advance(bodyReadMsMax),
    ({ response }: Scene) => response.hangUp(),
  ]) {
    const reading = scene();
    const results: BodyRead[] = [];
    reading.request.detach();
    reading.request.readBody(7, (result) => results.push(result));
    reading.response.receive('{', false);
    end(reading);
    reading.clock.advance(bodyReadMsMax);
    assert.deepEqual([results, reading.ended(), reading.request.isOpen], [['gone'], 1, false]);
  }
});

test('an answer before the end of the body ends the reading', () => {
  const { clock, request, response } = scene();
  const results: BodyRead[] = [];
  request.detach();
  request.readBody(7, (result) => results.push(result));
  request.answer(answer);
  response.receive('{"a":1}', true);
  clock.advance(bodyReadMsMax);
  assert.deepEqual([results, request.body.length], [[], 0]);
});
