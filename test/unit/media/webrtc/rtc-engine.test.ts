/** The WebRTC library: its location, and the sentence if it is missing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCutShort } from '../../../../src/media/codec/engine-file.ts';
import { findLibraryFile, openRtcEngine } from '../../../../src/media/webrtc/rtc-engine.ts';

test('without the optional package one sentence says how to install it', async () => {
  const opened = await openRtcEngine(() => Promise.reject(new Error('Cannot find it\nRequire stack: …')));
  assert(!opened.ok);
  assert.match(opened.error, /^no WebRTC: .*; run npm ci: Cannot find it$/);
});

test('the library is found where npm installs it, and is complete', (t) => {
  if (process.platform !== 'linux') return t.skip('of the packages of Linux');
  const file = findLibraryFile();
  assert(file !== null);
  assert.equal(isCutShort(file), false);
});
