import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownThreadId, threadTimeMs } from '../../../../src/media/transcoding/thread-time.ts';

const isLinux = process.platform === 'linux';

test(
  'the CPU time of a thread grows with its work and not with its waiting',
  { skip: !isLinux },
  async () => {
    const id = ownThreadId() ?? assert.fail('Linux tells it');
    const time = (): number => threadTimeMs(id) ?? assert.fail('the thread is there');
    const beforeMs = time();
    const { user, system } = process.cpuUsage();
    for (let usage = process.cpuUsage(); usage.user + usage.system - user - system < 60_000;)
      usage = process.cpuUsage();
    const workedMs = time();
    assert.ok(workedMs - beforeMs > 10, `${workedMs - beforeMs} ms`);

    await new Promise((resolve) => {
      setTimeout(resolve, 200);
    });
    assert.ok(time() - workedMs < 150, `${time() - workedMs} ms`);
  },
);

test('the CPU time of an unknown thread is unknown', () => {
  assert.equal(threadTimeMs(0), null);
});
