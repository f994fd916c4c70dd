import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import {
  linkBacklogBytesMax,
  linkLogLinesMax,
  linkSilenceMsMax,
  mediaStartMsMax,
} from '../../../../src/model/limits.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { mediaFrameResults } from '../../../../src/model/media/picture.ts';
import { linkVersion } from '../../../../src/protocol/media-link/link-message.ts';
import { declineMedia } from '../../../../src/media/link/media-language.ts';
import { MediaEnd } from '../../../../src/media/link/media-end.ts';
import type { MediaView } from '../../../../src/protocol/media-link/media-values.ts';
import { linkFrame } from '../../../support/link-frames.ts';
import { formerKey, newKey } from '../../../support/call-tokens.ts';
import { progress } from '../../../support/call-scene.ts';
import { admitted, bridgeKey, LegServiceScene, refusal } from '../../../support/leg-service-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { DuplexPair } from '../../../support/duplex-pair.ts';
import { FakeCallLeg } from '../../../support/fakes.ts';
import { LinkedLegService, mediaCounts } from '../../../support/linked-leg-service.ts';

const call = 'session-1' as SessionId;
const listening = { address: { host: '127.0.0.1', port: 8083 }, advertise: null };
const view: MediaView = {
  mode: 'fit_screen',
  hasDevice: true,
  hasBridge: false,
  viewers: 1,
  source: {
    format: 'h264',
    size: { width: 640, height: 480 },
    framesPerSecond: 15.1,
    bytesPerSecond: 40_000,
  },
  output: { format: 'mjpeg', size: null, framesPerSecond: 0, bytesPerSecond: 0 },
  camera: null,
  frames: Object.fromEntries(mediaFrameResults.map((result, n) => [result, n])) as MediaView['frames'],
  rebuilds: 2,
  keyFramesAsked: 1,
  frameMs: { p50: 4.5, p99: 12 },
  workMs: null,
};

function ends({ serverEnds, mediaEnds }: LinkedLegService): unknown[] {
  return [serverEnds, mediaEnds];
}

test('a media process reports its address once the server has said hello', async () => {
  const link = new LinkedLegService(new LegServiceScene());
  await link.media.started();
  link.media.ready({ host: '127.0.0.1', port: 8083 }, link.process);
  assert.deepEqual(await link.server.listening, listening);
});

test('the reason that a media process cannot listen is reported by the server in its words', async () => {
  const link = new LinkedLegService(new LegServiceScene());
  await link.media.started();
  link.media.failed('media.listen: port 8083 is taken');
  await link.media.end();
  await assert.rejects(link.server.listening, { message: 'media.listen: port 8083 is taken' });
  await link.untilIdle();
  assert.deepEqual(ends(link), [[null], [null]]);
});

test('a media process whose server disconnects before hello does not start', async () => {
  const link = new LinkedLegService(new LegServiceScene(), { breaksAt: 1 });
  await assert.rejects(link.media.started());
  await assert.rejects(link.server.listening);
});

test('a server of another version is rejected with a sentence', async () => {
  const pair = new DuplexPair();
  const ended = new Promise((resolve) => {
    const media = new MediaEnd({ clock: new DrivenClock(), onEnd: resolve });
    media.attach(pair.there);
    void media.started().catch(() => undefined);
  });
  pair.here.write(linkFrame({ kind: 'hello', version: linkVersion + 1, more: true }));
  assert.equal(
    await ended,
    `the server speaks version ${linkVersion + 1} of the link, and this end version ${linkVersion}: run the same release on both`,
  );
});

test('a bad token is refused by the media process itself, and the server is not asked', async () => {
  const scene = new LegServiceScene();
  const link = await new LinkedLegService(scene).ready();
  const { token } = await scene.newCall();
  const { writes } = link.pair;
  assert.equal(await refusal(link.media.service.admitDevice(`${token}x`)), 'signature');
  await link.untilIdle();
  assert.equal(link.pair.writes, writes);
});

test('a token of a new key is valid as soon as the server has sent the key, and of a retired one no longer', async () => {
  const scene = new LegServiceScene();
  const link = await new LinkedLegService(scene).ready();
  const { token } = await scene.newCall();
  try {
    scene.keys.replace([formerKey]);
    link.server.updateKeys();
    await link.untilIdle();
    assert.equal(await refusal(link.media.service.admitDevice(token)), 'unknown_key');
  } finally {
    scene.keys.replace([newKey]);
  }
  link.server.updateKeys();
  await link.untilIdle();
  assert.equal(await refusal(link.media.service.admitDevice(token)), null);
});

/** A linked scene whose server already has the key of the token, and whose media process does not. */
async function rotatedScene() {
  const scene = new LegServiceScene();
  const { token } = await scene.newCall();
  scene.keys.replace([formerKey]);
  const link = await new LinkedLegService(scene).ready();
  scene.keys.replace([newKey, formerKey]);
  return { link, token };
}

test('a token that arrives before its key is valid: the server is asked', async () => {
  const { link, token } = await rotatedScene();
  assert.equal(await refusal(link.media.service.admitDevice(token)), null);
  assert.equal(await refusal(link.media.service.admitDevice(withKid(token, 'nobody'))), 'unknown_key');
  assert.equal(await refusal(link.media.service.admitDevice(`${token}x`)), 'signature');
});

test('a client with many tokens of unknown keys is answered busy, at no cost to the server', async () => {
  const { link, token } = await rotatedScene();
  const strange = withKid(token, 'nobody');
  for (let n = 0; n < 100; n++)
    assert.equal(await refusal(link.media.service.admitDevice(strange)), 'unknown_key');
  const { writes } = link.pair;
  for (let n = 0; n < 100; n++) assert.equal(await refusal(link.media.service.admitDevice(strange)), 'busy');
  assert.equal(link.pair.writes, writes);
  await link.pass(1000);
  assert.equal(await refusal(link.media.service.admitDevice(token)), null);
});

function withKid(token: string, kid: string): string {
  const [, ...rest] = token.split('.');
  const head = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'JWT', kid })).toString('base64url');
  return [head, ...rest].join('.');
}

test('signs of life are sent once a second of each kind, and reports at once', async () => {
  const scene = new LegServiceScene();
  const link = await new LinkedLegService(scene).ready();
  const { token } = await scene.newCall();
  const open = link.media.service.openDeviceLeg(
    admitted(await link.media.service.admitDevice(token)),
    new FakeCallLeg(),
  );
  await link.untilIdle();
  const { writes } = link.pair;
  for (let frame = 0; frame < 15; frame += 1) open?.alive('media');
  await link.untilIdle();
  assert.equal(link.pair.writes, writes + 1);
  for (let ping = 0; ping < 15; ping += 1) open?.alive('ping');
  await link.untilIdle();
  assert.equal(link.pair.writes, writes + 2);
  scene.clock.advance(999);
  open?.alive('media');
  await link.untilIdle();
  const before = link.pair.writes;
  scene.clock.advance(1);
  await link.untilIdle();
  const heartbeats = link.pair.writes - before;
  open?.alive('media');
  await link.untilIdle();
  assert.equal(link.pair.writes, before + heartbeats + 1);
});

test('nothing is sent about a leg after it has ended', async () => {
  const scene = new LegServiceScene();
  const link = await new LinkedLegService(scene).ready();
  const open = link.media.service.openBridgeLeg(
    admitted(await link.media.service.admitBridge(bridgeKey, null)),
    new FakeCallLeg(),
  );
  open?.disconnected();
  await link.untilIdle();
  const { writes } = link.pair;
  open?.report(progress('ringing'));
  open?.answerAssignment(true);
  open?.alive('ping');
  open?.disconnected();
  await link.untilIdle();
  assert.equal(link.pair.writes, writes);
});

test('an admission opens one leg', async () => {
  const scene = new LegServiceScene();
  const { media } = await new LinkedLegService(scene).ready();
  const admission = admitted(await media.service.admitBridge(bridgeKey, null));
  assert.notEqual(media.service.openBridgeLeg(admission, new FakeCallLeg()), null);
  assert.equal(media.service.openBridgeLeg(admission, new FakeCallLeg()), null);
  assert.equal(media.service.openBridgeLeg({ ...admission }, new FakeCallLeg()), null, 'nor does a copy');
});

test('counts are added up, and sent four times a second', async () => {
  const scene = new LegServiceScene();
  const link = await new LinkedLegService(scene).ready();
  const { telemetry } = link.media;
  for (const result of ['accepted', 'accepted', 'load'] as const) telemetry.mediaLogin(result);
  for (let frame = 0; frame < 20; frame += 1) telemetry.mediaFrames('encoded', 2);
  telemetry.mediaRebuilds(3);
  telemetry.mediaFrameTime(0.004);
  await link.untilIdle();
  assert.deepEqual([...link.telemetry.counts], []);
  const { writes } = link.pair;
  scene.clock.advance(250);
  await link.untilIdle();
  assert.equal(link.pair.writes, writes + 1);
  assert.deepEqual(Object.fromEntries(link.telemetry.counts), {
    'media login accepted': 2,
    'media login load': 1,
    'media frame encoded': 40,
    'media rebuild': 3,
    'media frame time': 1,
  });
  scene.clock.advance(250);
  await link.untilIdle();
  assert.equal(link.pair.writes, writes + 1, 'nothing new, nothing said');
});

test('many times and logins at once lose nothing', async () => {
  const link = await new LinkedLegService(new LegServiceScene()).ready();
  for (let n = 0; n < 3000; n += 1) {
    link.media.telemetry.mediaFrameTime(n);
    link.media.telemetry.mediaLogin('busy');
  }
  await link.media.end();
  await link.untilIdle();
  assert.equal(link.telemetry.count('media frame time'), 3000);
  assert.equal(link.telemetry.count('media login busy'), 3000);
});

test('the capacity of the media process is known when it listens and once a second, and discarded when it ends', async () => {
  const link = await new LinkedLegService(new LegServiceScene()).ready();
  assert.deepEqual(link.server.counts(), mediaCounts);
  link.process.busyLegs = 5;
  await link.pass(1000);
  assert.deepEqual(link.server.counts(), { ...mediaCounts, legs: 5 });
  await link.server.end();
  assert.equal(link.server.counts(), null);
});

test('the capacity of a media process that has loaded its engine is known at once', async () => {
  const link = await new LinkedLegService(new LegServiceScene()).ready();
  link.process.busyLegs = 5;
  link.media.loaded();
  await link.untilIdle();
  assert.deepEqual(link.server.counts(), { ...mediaCounts, legs: 5 });
});

test('a line of the media process is written by the server, under its own name', async () => {
  const link = await new LinkedLegService(new LegServiceScene()).ready();
  link.media.log.warn({ level: 'x', err: new RangeError('too far'), big: 1n }, 'a frame was odd');
  await link.untilIdle();
  const [line] = link.log.lines;
  assert(line !== undefined);
  const { media } = line.fields as { media: { err: { stack?: string } } };
  assert.match(media.err.stack ?? '', /RangeError: too far/);
  delete media.err.stack;
  assert.deepEqual(line, {
    level: 'warn',
    fields: { media: { level: 'x', err: { type: 'RangeError', message: 'too far' }, big: '1' } },
    message: 'a frame was odd',
  });
});

test('lines that cannot be encoded, or are too long, are reported', async () => {
  const link = await new LinkedLegService(new LegServiceScene()).ready();
  const circle: { self?: object } = {};
  circle.self = circle;
  const deep = '['.repeat(300) + ']'.repeat(300);
  link.media.log.info(circle, 'a circle');
  link.media.log.info({ text: '"\n'.repeat(50_000) }, 'x'.repeat(5000));
  link.media.log.info({ deep: JSON.parse(deep) as object }, 'deep');
  await link.untilIdle();
  const fields = link.log.lines.map((line) => (line.fields as { media: object }).media);
  assert.deepEqual(
    fields.map((media) => (typeof media === 'string' ? 'text' : Object.keys(media))),
    [['unreadable'], ['cut'], 'text'],
  );
  assert.equal(link.log.lines[1]?.message.length, 1024);
});

test('the first of too many lines are written, and the number of lost ones', async () => {
  const scene = new LegServiceScene();
  const link = await new LinkedLegService(scene).ready();
  for (let n = 0; n < linkLogLinesMax + 7; n += 1) link.media.log.debug({}, 'again');
  await link.untilIdle();
  assert.equal(link.log.lines.length, linkLogLinesMax);
  await link.pass(1000);
  assert.deepEqual(link.log.lines.at(-1)?.fields, { media: { lost: 7 } });
  link.media.log.debug({}, 'and again');
  await link.untilIdle();
  assert.equal(link.log.lines.length, linkLogLinesMax + 2);
});

test('a session is viewed as the media process sees it', async () => {
  const link = await new LinkedLegService(new LegServiceScene()).ready();
  link.process.view = (sessionId) => (sessionId === call ? view : null);
  assert.deepEqual(await link.server.view(call), view);
  assert.equal(await link.server.view('another' as SessionId), null);
});

test('a session whose view is not answered within a second is not seen', async () => {
  const scene = new LegServiceScene();
  const link = await new LinkedLegService(scene).ready();
  link.pair.there.pause();
  const seen = link.server.view(call);
  scene.clock.advance(1000);
  assert.equal(await seen, null);
});

test('the certificate is reloaded when the server asks for it', async () => {
  const link = await new LinkedLegService(new LegServiceScene()).ready();
  const reloaded = link.server.reloadTls();
  await link.untilIdle();
  assert.deepEqual(link.process.asked, ['reload TLS']);
  assert.equal(await reloaded, null);
  link.process.tlsProblem = 'no PEM certificate in it';
  const refused = link.server.reloadTls();
  await link.untilIdle();
  assert.equal(await refused, 'no PEM certificate in it');
  link.pair.there.destroy();
  assert.equal(await link.server.reloadTls(), 'the media process does not answer');
});

test('a drain lasts until the media process reports that its legs have ended', async () => {
  const link = await new LinkedLegService(new LegServiceScene()).ready();
  let isDrained = false;
  const drained = link.server.drain().then(() => (isDrained = true));
  await link.untilIdle();
  assert.deepEqual([link.process.asked, isDrained], [['drain'], false]);
  link.process.drained();
  await drained;
  assert.deepEqual(ends(link), [[], []]);
});

test('a drain ends with the link, and a media process that does not listen yet ends the link', async () => {
  const link = await new LinkedLegService(new LegServiceScene()).ready();
  const drained = link.server.drain();
  link.pair.there.destroy();
  await drained;
  const starting = new LinkedLegService(new LegServiceScene());
  await starting.untilIdle();
  await starting.server.drain();
  await starting.untilIdle();
  assert.deepEqual(ends(starting), [[null], [null]]);
  await assert.rejects(starting.server.listening, { message: 'the media process hung up' });
});

for (const side of ['here', 'there'] as const)
  test(`when the ${side === 'here' ? 'server' : 'media process'} disconnects, the legs end at both ends`, async () => {
    const scene = new LegServiceScene();
    const link = await new LinkedLegService(scene).ready();
    const { service } = link.media;
    const { token } = await scene.newCall();
    const [device, bridge] = [new FakeCallLeg(), new FakeCallLeg()];
    service.openDeviceLeg(admitted(await service.admitDevice(token)), device);
    service.openBridgeLeg(admitted(await service.admitBridge(bridgeKey, null)), bridge);
    const early = admitted(await service.admitBridge(bridgeKey, null));
    await link.untilIdle();
    assert.deepEqual(scene.service.counts(), { device: 1, bridge: 0, idle_bridge: 1, viewer: 0 });
    link.pair[side].destroy();
    await link.untilIdle();
    assert.deepEqual([device.closes, bridge.closes], [['drain'], ['drain']]);
    assert.deepEqual(scene.service.counts(), { device: 0, bridge: 0, idle_bridge: 0, viewer: 0 });
    assert.equal(service.openBridgeLeg(early, new FakeCallLeg()), null);
    assert.equal(await refusal(service.admitBridge(bridgeKey, null)), 'unavailable');
    assert.deepEqual([link.serverEnds.length, link.mediaEnds.length], [1, 1]);
    assert.equal(scene.clock.pendingTimers, 1, 'only the wheel turns');
  });

test('a media process that is declined receives the reason, and nothing more', async () => {
  const clock = new DrivenClock();
  const pair = new DuplexPair();
  const ended = new Promise((resolve) => {
    const media = new MediaEnd({ clock, onEnd: resolve });
    media.attach(pair.there);
    assert.rejects(media.started(), /another one is there/).catch(resolve);
  });
  declineMedia(pair.here, clock, 'another one is there');
  assert.equal(await ended, 'the server declined this media process: another one is there');
  assert.equal(clock.pendingTimers, 0);
});

test('a declined media process that does not disconnect is cut', async () => {
  const clock = new DrivenClock();
  const pair = new DuplexPair();
  pair.there.pause();
  declineMedia(pair.here, clock, 'another one is there');
  clock.advance(linkSilenceMsMax);
  await once(pair.here, 'close');
  assert.equal(clock.pendingTimers, 0);
});

test('a peer that has not said hello has as long as a start may take', async () => {
  const scene = new LegServiceScene();
  const link = new LinkedLegService(scene);
  link.pair.here.pause();
  await link.pass(mediaStartMsMax - 1);
  assert.deepEqual(link.serverEnds, []);
  await link.pass(1);
  assert.deepEqual(link.serverEnds, [`the media process was silent for ${mediaStartMsMax} ms`]);
});

test('a peer that does not read is cut before its backlog exceeds the bound', async () => {
  const link = await new LinkedLegService(new LegServiceScene()).ready();
  link.pair.there.pause();
  for (let n = 0; n < 130_000; n += 1) link.server.updateKeys();
  await link.untilIdle();
  const [fault] = link.serverEnds;
  const bytes = Number(
    /^the media process reads too slowly: (\d+) bytes wait for it$/.exec(String(fault))?.[1],
  );
  assert.ok(bytes > linkBacklogBytesMax && bytes < linkBacklogBytesMax + 1000, `cut by: ${fault}`);
});
