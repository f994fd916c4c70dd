/** `reveille wakeups` as a process, and the lines of refused wakeups in the log, beside a running server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WakeupsAnswer } from '../../src/gateways/admin/wakeup-routes.ts';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { startTestServer } from '../support/test-server.ts';

test('an operator sees what became of the wakeups of a request id, accepted and refused', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const cli = (...args: readonly string[]): Promise<CliResult> =>
    runCli(['wakeups', ...args, '--data-dir', server.dataDirectory]);
  const ask = async (...args: readonly string[]): Promise<WakeupsAnswer> =>
    JSON.parse((await cli(...args, '--json')).stdout) as WakeupsAnswer;
  const module = await server.module('SLEEPING01');
  const spoil = { 'X-Request-ID': 'ring 7' };
  const wake = { device_id: 'SLEEPING01', custom_data: '0x12ab' };
  assert.equal((await server.api.wake(wake, { spoil })).status, 202);
  assert.equal((await server.api.wake({ device_id: 'SLEEPING02' }, { spoil })).status, 404);
  const mismatched = { ...spoil, 'X-Tg-Content-Sha256': '0'.repeat(64) };
  assert.equal((await server.api.wake(wake, { spoil: mismatched })).status, 401);
  const hostile = { ...spoil, 'X-Tg-App-Id': 'x'.repeat(300) };
  assert.equal((await server.api.wake(wake, { spoil: hostile })).status, 401);
  await module.nextPacket();

  const known = await ask('ring 7');
  assert.deepEqual(
    known.wakeups.map(({ device_id, status, packet }) => [device_id, status, packet]),
    [['SLEEPING01', 'accepted', '983b16f8f39c12ab']],
  );
  assert.deepEqual(
    known.events.map(({ type, device_id }) => [type, device_id]),
    [['device.wakeup.accepted', 'SLEEPING01']],
  );
  assert.deepEqual(
    known.refused.map(({ code, proven, device_id }) => [code, proven, device_id]),
    [
      [40105, false, null],
      [40105, false, null],
      [40412, true, 'SLEEPING02'],
    ],
  );
  const text = await cli('ring 7');
  assert.equal(text.exitCode, 0, text.stderr);
  assert.match(text.stdout, /98 3b 16 f8 f3 9c 12 ab/);
  assert.match(text.stdout, /SLEEPING02 +40412 +device is not connected/);
  assert.match(text.stderr, /older ones are in the log/);
  const ofDevice = await ask('ring 7', '--device', 'SLEEPING02');
  assert.deepEqual([ofDevice.wakeups.length, ofDevice.events.length, ofDevice.refused.length], [0, 0, 1]);
  const nothing = await cli('never');
  assert.deepEqual([nothing.exitCode, nothing.stdout], [1, '']);
  assert.match(nothing.stderr, /^nothing is known of wakeup never\n/);

  const lines = server.log.lines.filter(({ message }) => message === 'wakeup refused');
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, 'app_id' in fields, 'claimed_app_id' in fields]),
    [
      ['info', true, false],
      ['info', false, true],
      ['info', false, true],
    ],
  );
  assert.ok(!JSON.stringify(lines).includes('SLEEPING02'), 'the device is told at debug');
  assert.ok(!JSON.stringify(lines).includes('xxx'), 'a text that is no application id is not in the log');

  const twice = { device_id: 'SLEEPING01', number: 2 };
  const atMs = Date.now();
  for (const id of ['ring 8', 'ring 9'])
    assert.equal((await server.api.wake(twice, { atMs, spoil: { 'X-Request-ID': id } })).status, 202);
  const repeat = await ask('ring 9');
  assert.deepEqual(
    repeat.wakeups.map(({ status, packet, repeat_of }) => [status, packet, repeat_of]),
    [['accepted', '983b16f8f39c0000', 'ring 8']],
  );
  assert.deepEqual(
    repeat.events.map(({ type, data }) => [type, data['request_id']]),
    [['device.wakeup.accepted', 'ring 8']],
  );
  assert.match((await cli('ring 9')).stdout, /this id is a repeat of ring 8/);

  await module.close();
});
