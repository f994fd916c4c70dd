import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SocketCensus } from '../../../../src/gateways/signal/socket-census.ts';

const tickMs = 500;

function turn(census: SocketCensus, ms: number): void {
  for (let turned = 0; turned < ms; turned += tickMs) census.turn();
}

test('a socket is counted from its upgrade to its session or its end', () => {
  const census = new SocketCensus(tickMs);
  for (let i = 0; i < 2; i++) census.upgraded();
  assert.equal(census.sockets, 2);
  census.concluded();
  assert.equal(census.sockets, 1);
});

test('who was dismissed counts for as long as it may hang on', () => {
  const census = new SocketCensus(tickMs);
  for (let i = 0; i < 5; i++) census.dismissed();
  turn(census, 8000);
  assert.equal(census.sockets, 5);
  turn(census, 500);
  assert.equal(census.sockets, 0);
});
