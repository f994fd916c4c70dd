import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { join } from 'node:path';
import { hasAmrLibrary } from '../../../../src/media/codec/amr-library.ts';
import { encodableSound } from '../../../../src/media/codec/sound-encoder.ts';
import { engineTest } from '../../../support/engine-test.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

test('the AMR package is optional', (t) => {
  const elsewhere = createRequire(join(temporaryDirectory(t), 'module.js'));
  assert.equal(hasAmrLibrary(), true);
  assert.equal(hasAmrLibrary(elsewhere), false);
});

engineTest('without the AMR package everything but AMR is encoded', (engine) => {
  const encodings = encodableSound(engine, false);
  assert.deepEqual(encodings, ['alaw', 'opus', 'pcm']);
  assert.deepEqual(encodableSound(engine), ['alaw', 'amr', 'opus', 'pcm']);
});
