import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SocketCensus } from '../../../../src/gateways/signal/socket-census.ts';

const tickMs = 500;

function censusOf(handshakesMax: number, handshakesPerAddressMax: number): SocketCensus {
  return new SocketCensus(
    { handshakes_max: handshakesMax, handshakes_per_address_max: handshakesPerAddressMax },
    tickMs,
  );
}

function turn(census: SocketCensus, ms: number): void {
  for (let turned = 0; turned < ms; turned += tickMs) census.turn();
}

test('a socket is counted from its coming to its session or its end', () => {
  const census = censusOf(10, 10);
  for (let i = 0; i < 3; i++) assert.equal(census.connected('a'), true);
  census.disconnected();
  census.requested('a');
  census.upgraded();
  assert.equal(census.sockets, 2);
  census.concluded();
  assert.equal(census.sockets, 1);
});

test('an address that never asks is held back, and forgotten when its sockets must be gone', () => {
  const census = censusOf(100, 2);
  assert.deepEqual(
    [census.connected('a'), census.connected('a'), census.connected('a'), census.connected('b')],
    [true, true, false, true],
  );
  turn(census, 12_000);
  assert.equal(census.connected('a'), false);
  turn(census, 500);
  assert.equal(census.connected('a'), true);
});

test('an address whose requests come through is not held back', () => {
  const census = censusOf(100, 2);
  for (let i = 0; i < 20; i++) {
    assert.equal(census.connected('a'), true);
    census.requested('a');
    census.disconnected();
  }
});

test('sockets without a request are bounded in all', () => {
  const census = censusOf(2, 0);
  assert.deepEqual([census.connected(''), census.connected(''), census.connected('')], [true, true, false]);
  census.disconnected();
  census.disconnected();
  assert.equal(census.connected(''), true);
});

test('without a bound per address no address is ever full', () => {
  const census = censusOf(100, 0);
  for (let i = 0; i < 50; i++) {
    assert.equal(census.connected(''), true);
    census.requested('');
    census.upgraded();
  }
});

test('who was dismissed counts for as long as it may hang on', () => {
  const census = censusOf(10, 10);
  for (let i = 0; i < 5; i++) census.dismissed();
  turn(census, 8000);
  assert.equal(census.sockets, 5);
  turn(census, 500);
  assert.equal(census.sockets, 0);
});
