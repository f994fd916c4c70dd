import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestId } from '../../../../src/model/ids.ts';
import { TurnBudget } from '../../../../src/lib/turn-budget.ts';
import { Exchange, type Answer } from '../../../../src/gateways/api/exchange.ts';
import { FakeResponse } from '../../../support/fake-http.ts';

interface Scene {
  readonly response: FakeResponse;
  readonly exchange: Exchange;
  readonly gone: () => number;
  readonly ended: () => number;
  /** To give to `onGone`. */
  readonly listener: () => void;
}

function scene(): Scene {
  const response = new FakeResponse();
  let gone = 0;
  let ended = 0;
  const exchange = new Exchange(response.asResponse, new TurnBudget(1), () => {
    ended += 1;
  });
  return {
    response,
    exchange,
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
  requestId: 'r' as RequestId,
  closeConnection: false,
  withoutBody: false,
};

test('a peer that hangs up before the answer is told of once, and its exchange is over', () => {
  const { response, exchange, listener, gone, ended } = scene();
  exchange.onGone(listener);
  exchange.detach();
  response.hangUp();
  assert.deepEqual([gone(), ended(), exchange.isOpen], [1, 1, false]);
  exchange.answer(answer);
  exchange.abandon();
  assert.deepEqual([gone(), ended(), response.body], [1, 1, null]);
});

test('it is all the same whether one listens before or after the exchange is detached', () => {
  const { response, exchange, listener, gone } = scene();
  exchange.detach();
  exchange.onGone(listener);
  response.hangUp();
  assert.equal(gone(), 1);
});

test('who listens only after the peer hung up is told at once', () => {
  const { response, exchange, listener, gone } = scene();
  exchange.detach();
  response.hangUp();
  exchange.onGone(listener);
  assert.equal(gone(), 1);
});

test('an abort after the answer is nobody going', () => {
  const { response, exchange, listener, gone, ended } = scene();
  exchange.detach();
  exchange.onGone(listener);
  exchange.answer(answer);
  response.hangUp();
  assert.deepEqual([gone(), ended()], [0, 1]);
});

test('who listens after the answer is not told', () => {
  const { exchange, listener, gone } = scene();
  exchange.detach();
  exchange.answer(answer);
  exchange.onGone(listener);
  assert.equal(gone(), 0);
});

test('one listener is all there may be', () => {
  const { exchange, listener } = scene();
  exchange.onGone(listener);
  assert.throws(() => exchange.onGone(listener), /one listener/);
});
