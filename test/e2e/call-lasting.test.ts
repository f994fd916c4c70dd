/** What lasts of a call and what does not: leases, restarts, crashes, settings. Source: calls-and-media.md, Call sessions. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  askCredentials,
  connectBridge,
  connectDevice,
  isInCall,
  issueCall,
} from '../support/call-actions.ts';
import { runCli } from '../support/cli-process.ts';
import { startDrivenServer, type DrivenServer } from '../support/driven-server.ts';
import type { ToldEvent } from '../support/event-log-check.ts';
import { EventReader } from '../support/event-reader.ts';
import { withMedia } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { startTestSite } from '../support/test-site.ts';
import { startTestServer } from '../support/test-server.ts';

/** Its calls are of one device, one after the other. */
let driven: DrivenServer;
before(async () => {
  driven = await startDrivenServer();
});
after(() => driven.stop());

/** A lease that is over is noticed within two ticks of the wheel. */
const noticedMs = 1000;

async function endOf(reader: EventReader, session: string): Promise<unknown> {
  const isEnd = ({ type, data }: ToldEvent): boolean => type === 'call.ended' && data['session'] === session;
  return (await reader.until(isEnd)).at(-1)?.data['reason'];
}

test('a device that connects and then says nothing is in no call after 35 s', async () => {
  const reader = await EventReader.fromNow(driven.api);
  const { session, token } = await issueCall(driven);
  const device = await connectDevice(driven, token);
  driven.clock.advance(34_999);
  assert.equal(await isInCall(driven), true);
  driven.clock.advance(1 + noticedMs);
  assert.equal((await device.next('state'))['reason'], 'lost');
  assert.equal((await device.closed).code, 1000);
  assert.equal(await isInCall(driven), false);
  assert.equal(await endOf(reader, session), 'lost');
});

test('nobody answers: it rings for calling_timeout_sec and 5 s, whatever comes, and times out', async () => {
  const { session, token } = await issueCall(driven, { calling_timeout_sec: 10 });
  const bridge = await connectBridge(driven, { session });
  const device = await connectDevice(driven, token);
  bridge.report('ringing');
  await device.next('state');
  for (let second = 0; second < 14; second += 1) {
    driven.clock.advance(1000);
    bridge.report('ringing');
    await bridge.ping();
  }
  assert.equal(await isInCall(driven), true);
  driven.clock.advance(1000 + noticedMs);
  assert.equal((await device.next('state'))['reason'], 'timeout');
  assert.equal(await isInCall(driven), false);
});

test('a connected call lives by pings, and ends 60 s after the last', async () => {
  const { session, token } = await issueCall(driven);
  const device = await connectDevice(driven, token);
  const bridge = await connectBridge(driven, { session });
  bridge.report('connected');
  await device.next('state');
  for (let minute = 0; minute < 3; minute += 1) {
    driven.clock.advance(59_000);
    await device.ping();
  }
  assert.equal(await isInCall(driven), true);
  driven.clock.advance(60_000 + noticedMs);
  assert.equal((await bridge.next('state'))['reason'], 'lost');
});

test('credentials that nobody uses end as a timeout, and their token opens nothing', async () => {
  const reader = await EventReader.fromNow(driven.api);
  const { session, token } = await issueCall(driven, { calling_timeout_sec: 1 });
  driven.clock.advance(61_000 + noticedMs);
  assert.equal(await endOf(reader, session), 'timeout');
  await assert.rejects(connectDevice(driven, token), { status: 401 });
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
  const atRest = ['--data-dir', first.dataDirectory];
  const { stdout } = await runCli(['registry', 'export', '--with-secrets', ...atRest]);
  const registry = JSON.parse(stdout) as { devices: object[] };
  const devices = registry.devices.map((device) => ({ ...device, disabled: true }));
  const file = join(temporaryDirectory(t), 'registry.json');
  writeFileSync(file, JSON.stringify({ ...registry, devices }));
  const { exitCode, stderr } = await runCli(['registry', 'import', file, ...atRest]);
  assert.equal(exitCode, 0, stderr);
  const second = await startTestServer({ dataDirectory: first.dataDirectory });
  t.after(() => second.stop());
  await assert.rejects(connectBridge(second, { session }), { status: 404 });
  const events = await new EventReader(second.api).until(({ type }) => type === 'call.ended');
  assert.equal(events.at(-1)?.data['reason'], 'error');
});

test('after kill -9 a call that was told of is there, its token works, and it ends once', async (t) => {
  const site = await startTestSite(t, ...withMedia);
  const { session, token } = await issueCall(site);
  const device = await connectDevice(site, token);
  assert.equal(await isInCall(site), true);
  await site.kill();
  await device.closed;

  await site.start();
  assert.equal(await isInCall(site), true);
  const back = await connectDevice(site, token);
  const bridge = await connectBridge(site, { session });
  bridge.report('ended', 'rejected');
  await back.closed;
  assert.equal(await isInCall(site), false);
  const events = await new EventReader(site.api).until(({ type }) => type === 'call.ended');
  assert.deepEqual(
    events.map(({ type }) => type),
    ['call.started', 'call.ended'],
  );
  assert.equal(await site.stop(), 0);
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

test('where mixed formats are refused, unlike directions are 40003 and everything else is issued', async (t) => {
  const server = await startTestServer({ overrides: ['calls.mixed_formats=refuse'] });
  t.after(() => server.stop());
  const refused = await askCredentials(server, { up_video_mt: 'h264', down_video_mt: 'mjpeg' });
  assert.deepEqual([refused.status, refused.json.code], [200, 40003], refused.text);
  assert.match(String(refused.json['msg']), /^up_video_mt and down_video_mt must be the same/);
  await issueCall(server, { up_video_mt: 'mjpeg', down_video_mt: 'mjpeg' });
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
