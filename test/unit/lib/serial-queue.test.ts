import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SerialQueue } from '../../../src/lib/collections/queues.ts';

test('a task begins when the previous one has ended', async () => {
  const queue = new SerialQueue();
  const seen: string[] = [];
  let finish = (_result: string): void => undefined;
  const one = queue.run(() => {
    seen.push('one begins');
    return new Promise<string>((resolve) => (finish = resolve));
  });
  const two = queue.run(async () => seen.push('two begins'));
  await new Promise(setImmediate);
  assert.deepEqual(seen, ['one begins']);
  finish('done');
  assert.equal(await one, 'done');
  await two;
  assert.deepEqual(seen, ['one begins', 'two begins']);
});

test('a failing task rejects for its caller, and the next one runs', async () => {
  const queue = new SerialQueue();
  const failing = queue.run(() => Promise.reject(new Error('no room')));
  const next = queue.run(async () => 'done');
  await assert.rejects(failing, /no room/);
  assert.equal(await next, 'done');
});
