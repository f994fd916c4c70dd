import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fail } from '../../../../src/lib/result.ts';
import { MainThreadSound } from '../../../../src/media/transcoding/main-thread-sound.ts';
import { soundTurnMsMax } from '../../../../src/model/media/sound-limits.ts';

test('packets wait for the next turn, in order, once sound has taken its time of this one', async () => {
  const sound = new MainThreadSound(async () => fail('no engine'));
  const done: string[] = [];
  const convert = (name: string, workMs: number) =>
    sound.perform(() => {
      done.push(name);
      return { workMs };
    });
  await convert('cheap', soundTurnMsMax / 2);
  await convert('expensive', soundTurnMsMax);
  const waiting = ['first', 'second', 'third'].map((name) => convert(name, soundTurnMsMax / 2));

  await Promise.resolve();
  assert.deepEqual(done, ['cheap', 'expensive']);
  await nextTurn();
  assert.deepEqual(done, ['cheap', 'expensive', 'first', 'second']);
  await Promise.all(waiting);
  assert.deepEqual(done.slice(-1), ['third']);
});

test('one engine serves all sessions', async () => {
  let opened = 0;
  const sound = new MainThreadSound(async () => {
    opened += 1;
    return fail('no engine');
  });

  const engines = await Promise.all([sound.engine(), sound.engine()]);

  assert.deepEqual([engines, opened], [[null, null], 1]);
});
