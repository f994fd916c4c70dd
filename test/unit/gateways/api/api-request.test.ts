import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TurnBudget } from '../../../../src/lib/token-bucket.ts';
import { ApiRequest, type Answer } from '../../../../src/gateways/api/api-request.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeResponse, fakeRequest } from '../../../support/fake-http.ts';

interface Scene {
  readonly response: FakeResponse;
  readonly request: ApiRequest;
  readonly hangUps: () => number;
  readonly ended: () => number;
  /** The listener for `onGone`. */
  readonly listener: () => void;
}

function scene(): Scene {
  const response = new FakeResponse();
  let hangUps = 0;
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
