/** Commands of operators as processes, with one running server. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { LegRefused } from '../../src/tools/simulator/media-leg.ts';
import type { WakeupsAnswer } from '../../src/gateways/admin/wakeup-routes.ts';
import { connectBridge } from '../support/call-actions.ts';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { opsOf } from '../support/driven-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { startTestServer, testBridgeKeys, type TestServer } from '../support/test-server.ts';
import { ok, receiverSecret, status, WebhookReceiver } from '../support/webhook-receiver.ts';

const appId = '2818153';

let server: TestServer;
before(async () => {
  server = await startTestServer({ overrides: ['webhooks.allow_local=true'] });
});
after(() => server.stop());

function cli(...args: readonly string[]): Promise<CliResult> {
  return runCli([...args, '--data-dir', server.dataDirectory]);
}

/** Asserts the exit code. */
async function json<Answer>(args: readonly string[], exitCode = 0): Promise<Answer> {
  const result = await cli(...args, '--json');
  assert.equal(result.exitCode, exitCode, result.stderr);
  return JSON.parse(result.stdout) as Answer;
}

test('a bridge is added to a running server, connects with its key, and is closed when revoked', async () => {
  const added = await cli('bridge', 'add', 'bridge-new', '--app', appId);
  assert.equal(added.exitCode, 0, added.stderr);
  const key = /^key {2}([\w-]{43}) {2}/m.exec(added.stdout)?.[1] ?? '';
  const bridge = await connectBridge(server, { key });
  const again = await cli('bridge', 'add', 'bridge-new', '--app', appId);
  assert.equal(again.exitCode, 1);
  assert.match(again.stderr, /in the registry already\n {2}.*--replace/);

  assert.equal((await cli('bridge', 'revoke', 'bridge-new')).stdout, 'bridge-new is revoked\n');
  assert.equal((await bridge.closed).code, 4401);
  await assert.rejects(connectBridge(server, { key }), LegRefused);
  assert.match(
    (await cli('registry', 'list', 'bridges')).stdout,
    /^bridge-new +[0-9a-f]{64} +2818153 +true$/m,
  );
  await json(['bridge', 'revoke', 'bridge-new', '--restore']);
  const back = await connectBridge(server, { key });
  const replacing = ['bridge', 'add', 'bridge-new', '--app', appId, '--replace'];
  const replaced = await json<{ readonly key: string }>(replacing);
  assert.equal((await back.closed).code, 4401, 'who shows the old key is sent away');
  assert.notEqual(replaced.key, key);
  await (await connectBridge(server, { key: replaced.key })).close();
  const bridges = JSON.stringify(await json(['registry', 'list', 'bridges']));
  for (const secret of [key, replaced.key, testBridgeKeys.own]) assert.ok(!bridges.includes(secret));
});

test('an unknown call exits with 1 and an advice, an unknown reason exits with 2', async () => {
  const cases: readonly [args: readonly string[], exitCode: number, said: RegExp][] = [
    [['calls', 'end', 'nobody'], 1, /no live call session "nobody"\n {2}.*calls list/],
    [['calls', 'watch', 'nobody'], 1, /no live call session "nobody"\n {2}.*calls list/],
    [['calls', 'end', 'nobody', '--reason', 'bored'], 2, /Allowed choices are hangup_device, /],
  ];
  for (const [args, exitCode, said] of cases) {
    const { exitCode: ended, stderr } = await cli(...args);
    assert.equal(ended, exitCode, `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, said);
  }
});

test('an operator sees the accepted and refused wakeups of a request id', async () => {
  const ask = (...args: readonly string[]): Promise<WakeupsAnswer> => json(['wakeups', ...args]);
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
  const text = await cli('wakeups', 'ring 7');
  assert.equal(text.exitCode, 0, text.stderr);
  assert.match(text.stdout, /98 3b 16 f8 f3 9c 12 ab/);
  assert.match(text.stdout, /SLEEPING02 +40412 +device is not connected/);
  assert.match(text.stderr, /look for older ones in the log/);
  const ofDevice = await ask('ring 7', '--device', 'SLEEPING02');
  assert.deepEqual([ofDevice.wakeups.length, ofDevice.events.length, ofDevice.refused.length], [0, 0, 1]);
  const nothing = await cli('wakeups', 'never');
  assert.deepEqual([nothing.exitCode, nothing.stdout], [1, '']);
  assert.match(nothing.stderr, /^no wakeup has the request id never\n/);

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
  assert.match((await cli('wakeups', 'ring 9')).stdout, /this id is a repeat of ring 8/);

  await module.close();
});

test('an operator lists and tests webhooks of a running server', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answerInTurn(ok, status(500));
  const added = { app_id: appId, url: receiver.url, secret: receiverSecret, types: ['call.ended'] };
  await opsOf(server).change('/v1/webhook/add', added);
  const webhook = (...args: readonly string[]): Promise<CliResult> => cli('webhook', ...args);

  const tested = await webhook('test', receiver.url);
  assert.equal(tested.exitCode, 0, tested.stderr);
  assert.match(tested.stdout, /^delivered: answered 200 after \d+ ms\n$/);
  assert.equal(receiver.received[0]?.event?.['type'], 'webhook.test');
  const refused = await json<Record<string, unknown>>(['webhook', 'test', receiver.url], 1);
  assert.deepEqual(
    [refused['delivered'], refused['status'], refused['reason']],
    [false, 500, 'answered 500'],
  );

  const { webhooks } = await json<{ webhooks: Record<string, unknown>[] }>(['webhook', 'list']);
  const [listed] = webhooks;
  assert.deepEqual([listed?.['url'], listed?.['state'], listed?.['parked']], [receiver.url, 'on', 0]);
  assert.match((await webhook('replay', receiver.url)).stdout, /no event is parked/);
  assert.match((await webhook('enable', receiver.url)).stdout, /is on; \d+ events/);
  const unknown = await webhook('test', 'http://127.0.0.1:1/');
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.stderr, /no webhook http:\/\/127\.0\.0\.1:1\/ in the registry/);
  const alone = await webhook('show', receiver.url);
  assert.match(alone.stdout, /^webhook +http/);
  for (const { stdout, stderr } of [alone, tested, unknown])
    assert.ok(!(stdout + stderr).includes(receiverSecret), 'no secret is shown');
});

test('a webhook is named by a URL', async (t) => {
  const none = ['--data-dir', join(temporaryDirectory(t), 'none')];
  const wrong = await runCli(['webhook', 'test', 'backend.example', ...none]);
  assert.equal(wrong.exitCode, 2);
  assert.match(wrong.stderr, /The URL identifies a webhook/);
});
