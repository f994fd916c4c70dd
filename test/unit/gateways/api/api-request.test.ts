import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnBudget } from '../../../../src/lib/token-bucket.ts';
import { ApiRequest, type Answer } from '../../../../src/gateways/api/api-request.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeResponse, fakeRequest } from '../../../support/fake-http.ts';

interface Scene {
  readonly response: FakeResponse;
  readonly request: ApiRequest;
  readonly gone: () => number;
  readonly ended: () => number;
  /** To give to `onGone`. */
  readonly listener: () => void;
}

function scene(): Scene {
  const response = new FakeResponse();
  let gone = 0;
  let ended = 0;
  const request = new ApiRequest(response, fakeRequest('GET', '/', {}), {
    clock: new DrivenClock(),
    budget: new TurnBudget(1),
    ended: () => {
      ended += 1;
    },
  });
  request.identify(false);
  return {
    response,
    request,
    gone: () => gone,
    ended: () => ended,
    listener: () => {
      gone += 1;
    },
  };
}

const answer: Answer = {
  status: 200,
  body: '{}',
  closeConnection: false,
};

test('a peer that hangs up before the answer is told of once, and its exchange is over', () => {
  const { response, request, listener, gone, ended } = scene();
  request.onGone(listener);
  request.detach();
  response.hangUp();
  assert.deepEqual([gone(), ended(), request.isOpen], [1, 1, false]);
  request.answer(answer);
  request.abandon();
  assert.deepEqual([gone(), ended(), response.body], [1, 1, null]);
});

test('it is all the same whether one listens before or after the exchange is detached', () => {
  const { response, request, listener, gone } = scene();
  request.detach();
  request.onGone(listener);
  response.hangUp();
  assert.equal(gone(), 1);
});

test('who listens only after the peer hung up is told at once', () => {
  const { response, request, listener, gone } = scene();
  request.detach();
  response.hangUp();
  request.onGone(listener);
  assert.equal(gone(), 1);
});

test('an abort after the answer is nobody going', () => {
  const { response, request, listener, gone, ended } = scene();
  request.detach();
  request.onGone(listener);
  request.answer(answer);
  response.hangUp();
  assert.deepEqual([gone(), ended()], [0, 1]);
});

test('who listens after the answer is not told', () => {
  const { request, listener, gone } = scene();
  request.detach();
  request.answer(answer);
  request.onGone(listener);
  assert.equal(gone(), 0);
});

test('one listener is all there may be', () => {
  const { request, listener } = scene();
  request.onGone(listener);
  assert.throws(() => request.onGone(listener), /one listener/);
});
