/** What lasts of a call and what does not: leases, restarts, crashes, settings. Source: calls-and-media.md, Call sessions. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { ApiClient } from '../support/api-client.ts';
import {
  askCredentials,
  callBody,
  callStatus,
  connectBridge,
  connectDevice,
  isInCall,
  issuance,
  issueCall,
} from '../support/call-actions.ts';
import { runCli } from '../support/cli-process.ts';
import { startDrivenServer } from '../support/driven-server.ts';
import { EventReader } from '../support/event-reader.ts';
import { startServerProcess, type ServerProcess, withMedia } from '../support/server-process.ts';
import {
  startTestServer,
  testBridgeKeys,
  testCredentials,
  writeTestRegistry,
} from '../support/test-server.ts';

/** A lease that is over is noticed within two ticks of the wheel. */
const noticedMs = 1000;

test('a device that connects and then says nothing is in no call after 35 s', async (t) => {
  const server = await startDrivenServer();
  t.after(() => server.stop());
  const reader = await EventReader.fromNow(server.api);
  const { token } = await issueCall(server);
  const device = await connectDevice(server, token);
  server.clock.advance(34_999);
  assert.equal(await isInCall(server), true);
  server.clock.advance(1 + noticedMs);
  assert.equal((await device.next('state'))['reason'], 'lost');
  assert.equal((await device.closed).code, 1000);
  assert.equal(await isInCall(server), false);
  const [, ended] = await reader.take(2);
  assert.deepEqual([ended?.type, ended?.data['reason']], ['call.ended', 'lost']);
});

test('nobody answers: it rings for calling_timeout_sec and 5 s, whatever comes, and times out', async (t) => {
  const server = await startDrivenServer();
  t.after(() => server.stop());
  const { session, token } = await issueCall(server, { calling_timeout_sec: 10 });
  const bridge = await connectBridge(server, { session });
  const device = await connectDevice(server, token);
  bridge.report('ringing');
  await device.next('state');
  for (let second = 0; second < 14; second += 1) {
    server.clock.advance(1000);
    bridge.report('ringing');
    await bridge.ping();
  }
  assert.equal(await isInCall(server), true);
  server.clock.advance(1000 + noticedMs);
  assert.equal((await device.next('state'))['reason'], 'timeout');
  assert.equal(await isInCall(server), false);
});

test('a connected call lives by pings, and ends 60 s after the last', async (t) => {
  const server = await startDrivenServer();
  t.after(() => server.stop());
  const { session, token } = await issueCall(server);
  const device = await connectDevice(server, token);
  const bridge = await connectBridge(server, { session });
  bridge.report('connected');
  await device.next('state');
  for (let minute = 0; minute < 3; minute += 1) {
    server.clock.advance(59_000);
    await device.ping();
  }
  assert.equal(await isInCall(server), true);
  server.clock.advance(60_000 + noticedMs);
  assert.equal((await bridge.next('state'))['reason'], 'lost');
});

test('credentials that nobody uses end as a timeout, and their token opens nothing', async (t) => {
  const server = await startDrivenServer();
  t.after(() => server.stop());
  const reader = await EventReader.fromNow(server.api);
  const { token } = await issueCall(server, { calling_timeout_sec: 1 });
  server.clock.advance(61_000 + noticedMs);
  const [ended] = await reader.take(1);
  assert.deepEqual([ended?.type, ended?.data['reason']], ['call.ended', 'timeout']);
  await assert.rejects(connectDevice(server, token), { status: 401 });
});

test('an orderly restart takes the call up again: legs come back with what they have', async (t) => {
  const first = await startTestServer();
  const { session, token } = await issueCall(first);
  const [device, bridge] = [await connectDevice(first, token), await connectBridge(first, { session })];
  bridge.report('connected');
  await device.next('state');
  await first.halt();
  assert.deepEqual([(await device.closed).code, (await bridge.closed).code], [4503, 4503]);
  const second = await startTestServer({ dataDirectory: first.dataDirectory });
  t.after(() => second.stop());
  assert.equal(await isInCall(second), true);
  const back = await connectDevice(second, token);
  assert.equal((await back.next('state'))['state'], 'connected');
  const bridgeBack = await connectBridge(second, { session });
  await bridgeBack.next('start');
  bridgeBack.report('ended');
  assert.equal((await back.next('state'))['reason'], 'hangup_phone');
  assert.equal(await isInCall(second), false);
});

test('a call whose device is disabled while the server is down ends as an error at the start', async (t) => {
  const first = await startTestServer();
  const { session, token } = await issueCall(first);
  await connectDevice(first, token);
  await first.halt();
  const { exitCode, stderr } = await runCli([
    'device',
    'disable',
    'TESTDEVICE01',
    '--data-dir',
    first.dataDirectory,
  ]);
  assert.equal(exitCode, 0, stderr);
  const second = await startTestServer({ dataDirectory: first.dataDirectory });
  t.after(() => second.stop());
  await assert.rejects(connectBridge(second, { session }), { status: 404 });
  const events = await new EventReader(second.api).until(({ type }) => type === 'call.ended');
  assert.equal(events.at(-1)?.data['reason'], 'error');
});

async function statusOf(api: ApiClient): Promise<unknown> {
  const { json, text } = await api.call({ ...callStatus, query: 'device_id=TESTDEVICE01' });
  assert.equal(json.code, 0, text);
  return json.data?.['in_call'];
}

function mediaOf({ ports }: ServerProcess): string {
  return `ws://127.0.0.1:${ports.media}`;
}

test('after kill -9 a call that was told of is there, its token works, and it ends once', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'reveille-calls-'));
  const overrides = [
    ...withMedia,
    `data.dir=${directory}`,
    `registry.file=${await writeTestRegistry(directory)}`,
  ];
  const first = await startServerProcess(t, overrides);
  const api = new ApiClient(first.ports.api, testCredentials.all);
  const issued = await api.call({ ...issuance, body: JSON.stringify(callBody()) });
  const { token, peer_id: peerId } = issued.json.data as { token: string; peer_id: string };
  const session = new URL(peerId).searchParams.get('x_session') ?? '';
  const device = await DeviceLeg.connect({ url: mediaOf(first), token });
  assert.equal(await statusOf(api), true);
  await first.command.stop('SIGKILL');
  await device.closed;
  api.close();

  const second = await startServerProcess(t, overrides);
  const again = new ApiClient(second.ports.api, testCredentials.all);
  t.after(() => again.close());
  assert.equal(await statusOf(again), true);
  const back = await DeviceLeg.connect({ url: mediaOf(second), token });
  const bridge = await BridgeLeg.connect({ url: mediaOf(second), key: testBridgeKeys.own, session });
  bridge.report('ended', 'rejected');
  await back.closed;
  assert.equal(await statusOf(again), false);
  const events = await new EventReader(again).until(({ type }) => type === 'call.ended');
  assert.deepEqual(
    events.map(({ type }) => type),
    ['call.started', 'call.ended'],
  );
  assert.equal(await second.command.stop('SIGTERM'), 0);
  await rm(directory, { recursive: true });
});

test('where a bridge is required, credentials wait for an idle one', async (t) => {
  const server = await startTestServer({
    overrides: ['calls.require_bridge=true', 'media.bridge_keys=development'],
  });
  t.after(() => server.stop());
  const refused = await askCredentials(server);
  assert.deepEqual([refused.status, refused.json.code], [200, 50301], refused.text);
  const bridge = await connectBridge(server, { key: 'development' });
  const { session } = await issueCall(server);
  const { assign } = await bridge.acceptAssignment();
  assert.equal(assign.session, session);
});

test('where bridges are asked when the device connects, they are not asked before', async (t) => {
  const server = await startTestServer({ overrides: ['calls.assign=device'] });
  t.after(() => server.stop());
  const bridge = await connectBridge(server);
  const { session, token } = await issueCall(server);
  await bridge.ping();
  assert.equal(await isInCall(server), false);
  const assigned = bridge.acceptAssignment();
  await connectDevice(server, token);
  assert.equal((await assigned).assign.session, session);
});
