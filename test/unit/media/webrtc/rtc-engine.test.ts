/** The library of WebRTC: where it is looked for, and the sentence where there is none. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCutShort } from '../../../../src/media/codec/engine-file.ts';
import { findLibraryFile, openRtcEngine } from '../../../../src/media/webrtc/rtc-engine.ts';

test('without the optional package one sentence says how to get it', async () => {
  const opened = await openRtcEngine(() => Promise.reject(new Error('Cannot find it\nRequire stack: …')));
  assert(!opened.ok);
  assert.match(opened.error, /^there is no WebRTC here: .* \(npm ci installs it\): Cannot find it$/);
});

test('the library is looked for where npm has put it, and is whole', (t) => {
  if (process.platform !== 'linux') return t.skip('of the packages of Linux');
  const file = findLibraryFile();
  assert(file !== null);
  assert.equal(isCutShort(file), false);
});
