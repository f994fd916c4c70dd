import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findInForce } from '../../../../src/server/config/settings-in-force.ts';
import { loadSettings } from '../../../../src/server/config/settings.ts';

const around = { openFilesMax: Infinity, processors: 4, sharers: 1 };

function inForce(
  overrides: readonly string[],
  changed: Partial<typeof around> = {},
): Record<string, unknown> {
  const found = findInForce(loadSettings({ env: {}, overrides }), { ...around, ...changed });
  return Object.fromEntries([...found].map(([name, { value }]) => [name, value]));
}

test('the open file limit bounds all socket limits of local processes', () => {
  const low = inForce([], { openFilesMax: 1100 });
  assert.equal(low['sleep.max_sessions'], 76);
  assert.equal(low['sleep.handshakes_max'], 76);
  assert.equal(low['signal.max_sessions'], 0);
  assert.equal(low['api.connections_max'], 256 + 19);
  assert.equal(low['media.legs_max'], 76);
  assert.equal(low['media.rtc_peers_max'], 76);
  const apart = inForce(['media.process=none'], { openFilesMax: 1100 });
  assert.equal(apart['media.legs_max'], undefined);
  assert.equal(inForce([])['sleep.max_sessions'], undefined);
});

test('default thread counts follow the number of CPUs', () => {
  assert.equal(inForce([])['auth.threads'], 3);
  assert.equal(inForce([], { processors: 64 })['auth.threads'], 4);
  assert.equal(inForce([])['media.workers'], 3);
  assert.equal(inForce(['media.processes=2'], { processors: 9 })['media.workers'], 4);
  assert.equal(inForce(['media.workers=2'])['media.workers'], undefined);
  assert.equal(inForce(['auth.verification=inline'])['auth.threads'], undefined);
});

test('fronts verify signatures themselves, and are limited by what the system supports', () => {
  const fronted = inForce(['api.fronts=2']);
  assert.equal(fronted['auth.verification'], 'inline');
  assert.equal(fronted['auth.threads'], undefined);
  assert.equal(fronted['api.fronts'], process.platform === 'linux' ? undefined : 1);
  assert.equal(inForce([])['auth.verification'], undefined);
});

test('default bursts follow from the rates, and nodes share the rates of applications', () => {
  const alone = inForce(['limits.queries_per_second=10']);
  assert.equal(alone['wakeup.application_burst'], 400);
  assert.equal(alone['wakeup.application_per_second'], undefined);
  assert.equal(alone['limits.queries_per_second'], undefined);
  const shared = inForce(['limits.queries_per_second=10', 'wakeup.application_burst=3'], { sharers: 2 });
  assert.equal(shared['wakeup.application_per_second'], 100);
  assert.equal(shared['limits.queries_per_second'], 5);
  assert.equal(shared['limits.messages_per_second'], undefined);
  assert.equal(shared['wakeup.application_burst'], 1.5);
  assert.equal(shared['wakeup.device_burst'], 3);
});
