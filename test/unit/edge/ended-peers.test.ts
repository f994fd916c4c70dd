import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EndedPeers } from '../../../src/edge/ended-peers.ts';
import { sleepEndsPerTurnMax } from '../../../src/model/sleep.ts';
import { nextTurn } from '../../support/event-loop.ts';

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, number) => number);
}

test('a limited number of peers is ended in a turn, the others in order in later turns', async () => {
  const ended: number[] = [];
  const peers = new EndedPeers<number>((peer) => ended.push(peer));
  const all = numbers(2.5 * sleepEndsPerTurnMax);
  for (const peer of all) peers.add(peer);
  assert.deepEqual(ended, numbers(sleepEndsPerTurnMax));
  await nextTurn();
  assert.equal(ended.length, 2 * sleepEndsPerTurnMax);
  await nextTurn();
  assert.deepEqual(ended, all);
});

test('a new peer waits after those already queued', async () => {
  const ended: number[] = [];
  const peers = new EndedPeers<number>((peer) => ended.push(peer));
  const all = numbers(sleepEndsPerTurnMax + 2);
  for (const peer of all.slice(0, -1)) peers.add(peer);
  peers.add(sleepEndsPerTurnMax + 1);
  await nextTurn();
  assert.deepEqual(ended, all);
});

test('each turn has room again', async () => {
  const ended: number[] = [];
  const peers = new EndedPeers<number>((peer) => ended.push(peer));
  for (const peer of numbers(sleepEndsPerTurnMax)) peers.add(peer);
  await nextTurn();
  peers.add(sleepEndsPerTurnMax);
  assert.deepEqual(ended, numbers(sleepEndsPerTurnMax + 1));
});
