import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEngine } from '../../../../src/media/codec/engine.ts';
import { engineTest } from '../../../support/engine-test.ts';

void test('without the optional package one sentence says how to get it', async () => {
  const missing = Object.assign(new Error("Cannot find package 'node-av'"), { code: 'ERR_MODULE_NOT_FOUND' });
  const opened = await openEngine(() => Promise.reject(missing));
  assert.deepEqual(opened, {
    ok: false,
    error: 'video is not decoded here: the package node-av is not installed (npm install --include=optional)',
  });
});

void test('a native part that does not load is told in one line, with its reason', async () => {
  const opened = await openEngine(() =>
    Promise.reject(new Error('Could not load the binding.\nErrors:\n  GLIBC_2.38 not found\n\n')),
  );
  assert(!opened.ok);
  assert.match(
    opened.error,
    /does not load on .*: Could not load the binding\. Errors: GLIBC_2\.38 not found$/,
  );
});

engineTest('the engine tells the version of its libraries', (engine) => {
  assert.match(engine.version, /^\d+\.\d+/);
});

engineTest('the engine prints nothing, whatever it is fed', (engine) => {
  assert.equal(engine.av.Log.getLevel(), engine.constants.AV_LOG_QUIET);
});
