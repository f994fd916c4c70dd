import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEngine } from '../../../../src/media/codec/engine.ts';
import { findEngineFile, isCutShort } from '../../../../src/media/codec/engine-file.ts';
import { engineTest } from '../../../support/engine-test.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

void test('without the optional package one sentence says how to install it', async () => {
  const missing = Object.assign(new Error("Cannot find package 'node-av'"), { code: 'ERR_MODULE_NOT_FOUND' });
  const opened = await openEngine(() => Promise.reject(missing));
  assert.deepEqual(opened, {
    ok: false,
    error: 'no video decoding: package node-av (FFmpeg) is not installed; run npm ci',
  });
});

void test('a native library that does not load is reported in one line, with its reason', async () => {
  const opened = await openEngine(() =>
    Promise.reject(new Error('Could not load the binding.\nErrors:\n  GLIBC_2.38 not found\n\n')),
  );
  assert(!opened.ok);
  assert.match(
    opened.error,
    /does not load on .*: Could not load the binding\. Errors: GLIBC_2\.38 not found$/,
  );
});

test('a truncated binary is detected before it is loaded', (t) => {
  const whole = process.execPath;
  if (process.platform !== 'linux') return t.skip('of ELF files');
  assert.equal(isCutShort(whole), false);
  const file = join(temporaryDirectory(t), 'short.node');
  for (const bytes of [64, 4096, 1_000_000]) {
    writeFileSync(file, readFileSync(whole).subarray(0, bytes));
    assert.equal(isCutShort(file), true, `${bytes} bytes`);
  }
  // The loader rejects these with an error.
  for (const text of ['', 'no binary']) {
    writeFileSync(file, text);
    assert.equal(isCutShort(file), false);
  }
});

engineTest('the engine is found where npm installs it', () => {
  const file = findEngineFile();
  assert(file !== null);
  assert.equal(isCutShort(file), false);
});

engineTest('the engine has the version of its libraries', (engine) => {
  assert.match(engine.version, /^\d+\.\d+/);
});

engineTest('the engine prints nothing, whatever its input', (engine) => {
  assert.equal(engine.av.Log.getLevel(), engine.constants.AV_LOG_QUIET);
});
