/** Calls whose core is killed: media processes keep the legs, and hand them to the next core. Source: scale-out.md, Edges. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { callStatus, issueCall } from '../support/call-actions.ts';
import { EdgesSite } from '../support/edges-site.ts';
import { EventReader } from '../support/event-reader.ts';
import { seesFrames, untouchedFrame, untouchedVideo } from '../support/media-process-scene.ts';
import { withMedia } from '../support/server-process.ts';
import { siteDevice } from '../support/site-server.ts';
import { lastFirst } from '../support/temporary-store.ts';
import { developmentKey } from '../support/wire-call.ts';

/** Maximum gap between two pictures after a kill of the core. */
const gapMsMax = 2000;
const pictureMs = 20;

test('a call with video continues across a killed core, and ends once', async (t) => {
  const settings = [...withMedia, `media.bridge_keys=${developmentKey}`];
  const site = await EdgesSite.open(lastFirst(t), { edges: 1, devices: 2, settings });
  const url = `ws://127.0.0.1:${site.ports.media}`;
  const deviceId = siteDevice(0);
  const { token, session } = await issueCall(site, { device_id: deviceId, ...untouchedVideo });
  let lastMs = 0;
  let gapMs = 0;
  const onFrame = (): void => {
    const nowMs = performance.now();
    if (lastMs > 0) gapMs = Math.max(gapMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const device = await DeviceLeg.connect({ url, token, onFrame });
  const bridge = await BridgeLeg.connect({ url, key: developmentKey, session });
  await bridge.next('start');
  const idle = await BridgeLeg.connect({ url, key: developmentKey });
  bridge.report('ringing');
  device.accept();
  await bridge.until((text) => text['state'] === 'attempting');
  bridge.report('connected');
  await device.until((text) => text.type === 'state' && text.state === 'connected');
  const sending = setInterval(() => bridge.frame(untouchedFrame(Math.round(performance.now()))), pictureMs);
  t.after(() => clearInterval(sending));
  const media = await site.process('media-0');
  assert.deepEqual([media.kind, media.state, media.restarts], ['media', 'up', 0]);

  for (let kill = 0; kill < 2; kill += 1) {
    const { pid } = await site.process('core');
    process.kill(pid, 'SIGKILL');
    await site.replaced('core', pid);
    const query = `device_id=${deviceId}`;
    const { json } = await site.newApi().call({ ...callStatus, query });
    assert.equal(json.data?.['in_call'], true, JSON.stringify(json));
  }
  assert.equal((await site.process('media-0')).pid, media.pid);
  await seesFrames(device, device.counts.videoFrames + 10);
  assert.ok(gapMs < gapMsMax, `no picture for ${Math.round(gapMs)} ms`);

  const api = site.newApi();
  const next = await issueCall({ api }, { device_id: siteDevice(1), ...untouchedVideo });
  const asked = await idle.next<{ readonly type: 'assign'; readonly session: string }>('assign');
  assert.equal(asked.session, next.session);

  device.hangup();
  const ended = await bridge.until((text) => text.type === 'state' && text.state === 'ended');
  assert.equal(ended['reason'], 'hangup_device');
  assert.deepEqual((await device.closed).code, 1000);
  const told = await new EventReader(api).until(({ type }) => type === 'call.ended');
  assert.deepEqual(
    told
      .filter(({ type, data }) => type.startsWith('call.') && data['session'] === session)
      .map(({ type, data }) => [type, data['state'], data['reason']]),
    [
      ['call.started', 'establishing', null],
      ['call.state', 'ringing', null],
      ['call.state', 'attempting', null],
      ['call.state', 'connected', null],
      ['call.ended', 'ended', 'hangup_device'],
    ],
  );
  assert.equal((await idle.close()).code, 1000);
});
