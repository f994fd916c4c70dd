import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logConsole } from '../../../../src/cli/serve/serving-end.ts';
import type { Log } from '../../../../src/lib/log.ts';

test("a library's message with its stack becomes one line of the log", (t) => {
  const { error, warn } = console;
  t.after(() => Object.assign(console, { error, warn }));
  const lines: [object, string][] = [];
  const log = {
    warn: (fields: object, message: string) => lines.push([fields, message]),
  } as Partial<Log> as Log;
  let ended = 0;
  logConsole({ log }, () => void (ended += 1));
  console.error('In aftercommit callback', new Error('MDB_MAP_FULL: Environment mapsize limit reached'));
  console.warn('deprecated');
  assert.deepEqual(lines, [
    [
      { said: 'In aftercommit callback MDB_MAP_FULL: Environment mapsize limit reached' },
      'library: reported a fault',
    ],
    [{ said: 'deprecated' }, 'library: reported a fault'],
  ]);
  assert.equal(ended, 2, 'what the native part printed before it has a line of its own');
});
