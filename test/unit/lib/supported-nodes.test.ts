/** Supported versions of Node, and the advice for one without a binary of uWebSockets.js. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseAdvice } from '../../../src/lib/connections/uws-binary.ts';
import { findNodeSupport, supportedNodes } from '../../../src/lib/package-version.ts';

for (const [version, support] of [
  ['18.20.8', 'too-old'],
  ['20.11.1', 'too-old'],
  ['20.12.0', 'supported'],
  ['21.7.3', 'untested'],
  ['22.0.0', 'supported'],
  ['24.21.0', 'supported'],
  ['26.0.0', 'untested'],
] as const)
  test(`Node ${version} is ${support}`, () => assert.equal(findNodeSupport(version), support));

test('the supported versions of Node are listed for people', () => {
  assert.equal(supportedNodes(), '20.12+, 22 or 24');
});

const [abiOf22, abiOf23, abiOf24] = ['127', '131', '137'];
const another = /^run on Node 20 or 22 /;

for (const [system, abi, platform, glibc, advice] of [
  ['Node 22 with a damaged package', abiOf22, 'linux', '2.36', /^npm ci /],
  ['Node 22 without glibc', abiOf22, 'linux', null, another],
  ['Node 23', abiOf23, 'linux', '2.41', another],
  ['Node 24 with glibc 2.36', abiOf24, 'linux', '2.36', another],
  ['Node 24 with glibc 2.38', abiOf24, 'linux', '2.38', /^npm run node24 .*installs it$/],
  ['Node 24 on macOS', abiOf24, 'darwin', null, /^npm run node24 .*installs it$/],
] as const)
  test(`${system} gets advice that works on it`, () =>
    assert.match(chooseAdvice(abi, platform, glibc), advice));
