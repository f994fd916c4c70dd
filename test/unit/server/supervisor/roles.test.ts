/** What one of several processes may do of what is set for the machine. Source: cluster.md, Several processes on one machine. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemberId } from '../../../../src/model/cluster.ts';
import { settingsOfProcess } from '../../../../src/server/supervisor/roles.ts';
import type { Settings } from '../../../../src/server/config/settings-schema.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';

function ofOneIn(workers: number, ...overrides: string[]): Settings {
  const settings = loadSettings({ env: {}, overrides });
  const { api, sleep, signal, media, ops } = settings;
  const listeners = {
    api: api.listen,
    sleep: sleep.listen,
    signal: signal.listen,
    media: media.listen,
    ops: ops.listen,
  };
  return settingsOfProcess(settings, {
    process: 1,
    role: 'worker',
    member: 'node-1/1@1' as MemberId,
    workers,
    socketDirectory: '',
    listeners,
  });
}

test("an application's limits are divided among the processes that are reached", () => {
  const { limits } = ofOneIn(4, 'limits.queries_per_second=10', 'limits.queries_burst=6');
  assert.deepEqual([limits.queries_per_second, limits.queries_burst], [2.5, 2]);
});

test('a limit that is off is off in every process', () => {
  assert.deepEqual(new Set(Object.values(ofOneIn(4).limits)), new Set([null]));
});
