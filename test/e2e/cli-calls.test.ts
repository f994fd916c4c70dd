/** `reveille calls …` and `reveille bridge …` as processes, beside a running server. */
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { after, before, test } from 'node:test';
import { LegRefused } from '../../src/tools/simulator/media-leg.ts';
import type { CallJson } from '../../src/gateways/admin/call-routes.ts';
import {
  connectBridge,
  connectDevice,
  isInCall,
  issueCall,
  msgSessionKey,
  msgSessionToken,
  openCallPage,
} from '../support/call-actions.ts';
import { runCli, type CliResult } from '../support/cli-process.ts';
import { startTestServer, testBridgeKeys, type TestServer } from '../support/test-server.ts';

const appId = '2818153';

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

function cli(...args: readonly string[]): Promise<CliResult> {
  return runCli([...args, '--data-dir', server.dataDirectory]);
}

/** Fails when the command does. */
async function json<Answer>(...args: readonly string[]): Promise<Answer> {
  const { exitCode, stdout, stderr } = await cli(...args, '--json');
  assert.equal(exitCode, 0, stderr);
  return JSON.parse(stdout) as Answer;
}

async function listed(...args: readonly string[]): Promise<readonly CallJson[]> {
  return (await json<{ readonly calls: readonly CallJson[] }>('calls', 'list', ...args)).calls;
}

/** The status of whoever opens the link; its body is not waited for. */
function openLink(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = get(url, { agent: false }, (response) => {
      resolve(response.statusCode);
      asked.destroy();
    });
    asked.on('error', reject);
  });
}

test('an operator sees a call, watches it and ends it, and both sides are told', async () => {
  const { session, token } = await issueCall(server, { msg_room_id: 'watched' });
  const [issued] = await listed();
  assert.deepEqual(
    [issued?.session, issued?.room_id, issued?.state, issued?.legs],
    [session, 'watched', 'issued', { device: false, bridge: false }],
  );
  const device = await connectDevice(server, token);
  const bridge = await connectBridge(server, { session });
  const [connected] = await listed('--device', 'TESTDEVICE01');
  assert.deepEqual([connected?.state, connected?.legs], ['establishing', { device: true, bridge: true }]);
  assert.deepEqual(await listed('--device', 'SLEEPING01'), []);
  const table = await cli('calls', 'list');
  assert.match(
    table.stdout,
    new RegExp(`^${session} +TESTDEVICE01 +watched +establishing .* device, bridge `, 'm'),
  );

  const link = await cli('calls', 'watch', session);
  assert.equal(link.exitCode, 0, link.stderr);
  const [, page = '', picture = ''] = /^page {5}(\S+)\npicture {2}(\S+)\n$/.exec(link.stdout) ?? [];
  assert.match(page, /^http:\/\/127\.0\.0\.1:\d+\/watch\?ticket=[\w-]+$/);
  assert.match(picture, /^http:\/\/127\.0\.0\.1:\d+\/media\/v1\/downlink\.mjpeg\?ticket=[\w-]+$/);
  assert.match(link.stderr, /each opens once, until \d{4}-/);
  assert.match(await openCallPage(page), /^[\w-]{43}$/);
  await assert.rejects(openCallPage(page), /401/, 'a ticket is good once');
  assert.equal(await openLink(picture), 200);
  assert.equal(await openLink(picture), 401, 'a ticket is good once');

  const ended = await cli('calls', 'end', session);
  assert.equal(ended.stdout, 'ended the call of TESTDEVICE01 as cancelled\n', ended.stderr);
  for (const leg of [device, bridge]) {
    assert.equal((await leg.next('state'))['reason'], 'cancelled');
    assert.equal((await leg.closed).code, 1000);
  }
  assert.equal(await isInCall(server), false);
  assert.equal((await cli('calls', 'list')).stdout, 'no live calls\n');
  for (const said of [table, link, ended].map(({ stdout, stderr }) => stdout + stderr))
    for (const secret of [token, msgSessionKey, msgSessionToken])
      assert.ok(!said.includes(secret), 'no secret is shown');
});

test('a bridge is added to a running server, comes with its key, and is sent away when it is revoked', async () => {
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
  await json('bridge', 'revoke', 'bridge-new', '--restore');
  const back = await connectBridge(server, { key });
  const replaced = await json<{ readonly key: string }>(
    'bridge',
    'add',
    'bridge-new',
    '--app',
    appId,
    '--replace',
  );
  assert.equal((await back.closed).code, 4401, 'who shows the old key is sent away');
  assert.notEqual(replaced.key, key);
  await (await connectBridge(server, { key: replaced.key })).close();
  const bridges = JSON.stringify(await json('registry', 'list', 'bridges'));
  for (const secret of [key, replaced.key, testBridgeKeys.own]) assert.ok(!bridges.includes(secret));
});

test('a call that is not live exits 1 and says where to look, a reason that does not exist exits 2', async () => {
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
