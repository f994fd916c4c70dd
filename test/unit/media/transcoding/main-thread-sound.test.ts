import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { lostSound } from '../../../../src/media/transcoding/transcoder-task.ts';
import { MainThreadSound } from '../../../../src/media/transcoding/main-thread-sound.ts';
import { soundTurnMsMax } from '../../../../src/model/media/sound-limits.ts';
import { engineTest } from '../../../support/engine-test.ts';
import { fail, succeed } from '../../../../src/lib/result.ts';

engineTest(
  'packets wait for the next turn, in order, once sound has taken its time of this one',
  async (engine) => {
    let opened = 0;
    const sound = new MainThreadSound(async () => {
      opened += 1;
      return succeed(engine);
    });
    const done: string[] = [];
    const convert = (name: string, workMs: number) =>
      sound.perform(() => {
        done.push(name);
        return { ...lostSound, workMs };
      });
    await Promise.all([convert('cheap', soundTurnMsMax / 2), convert('expensive', soundTurnMsMax)]);
    const waiting = ['first', 'second', 'third'].map((name) => convert(name, soundTurnMsMax / 2));

    await Promise.resolve();
    assert.deepEqual(done, ['cheap', 'expensive']);
    await nextTurn();
    assert.deepEqual(done, ['cheap', 'expensive', 'first', 'second']);
    await Promise.all(waiting);
    assert.deepEqual(done.slice(-1), ['third']);
    assert.equal(opened, 1);
  },
);

test('without an engine no packet is converted', async () => {
  const sound = new MainThreadSound(async () => fail('there is no engine here'));

  assert.equal(await sound.perform(() => assert.fail('it has none')), null);
});
