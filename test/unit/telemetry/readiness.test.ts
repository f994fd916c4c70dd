import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Readiness } from '../../../src/telemetry/readiness.ts';

test('a process is not ready until it has started', () => {
  const readiness = new Readiness();
  assert.deepEqual(readiness.reasons, ['starting']);
  readiness.clear('starting');
  assert.deepEqual(readiness.reasons, []);
});

test('a reason counts once, and others stay when it is cleared', () => {
  const readiness = new Readiness();
  readiness.clear('starting');
  readiness.set('store');
  readiness.set('store');
  readiness.set('draining');
  assert.deepEqual(readiness.reasons, ['store', 'draining']);
  readiness.clear('store');
  readiness.clear('cluster');
  assert.deepEqual(readiness.reasons, ['draining']);
  assert.ok(readiness.isDraining());
});

test('a server with an empty registry is ready, with a reason until it has entries', () => {
  const readiness = new Readiness();
  let hasRegistry = false;
  readiness.watchRegistry(() => hasRegistry);
  readiness.clear('starting');
  assert.deepEqual([readiness.isReady, readiness.reasons], [true, ['registry_empty']]);
  readiness.set('store');
  assert.equal(readiness.isReady, false);
  readiness.clear('store');
  hasRegistry = true;
  assert.deepEqual([readiness.isReady, readiness.reasons], [true, []]);
});

test('a process is ready when all its parts are, and names the missing ones', () => {
  const readiness = new Readiness();
  readiness.clear('starting');
  let isFrontUp = false;
  readiness.include(() => ({ isReady: true, reasons: ['cluster'] }));
  readiness.include(() => ({ isReady: isFrontUp, reasons: ['front-1'] }));
  assert.deepEqual([readiness.isReady, readiness.reasons], [false, ['cluster', 'front-1']]);
  isFrontUp = true;
  assert.equal(readiness.isReady, true);
});
