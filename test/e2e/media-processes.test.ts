/**
 * A server with two media processes: calls are shared by load, a leg that comes to the wrong one reaches its call, and one
 * that dies moves its own calls only. Source: calls-and-media.md, The media process.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { BridgeLeg, DeviceLeg, type LegAccess } from '../../src/tools/simulator/media-leg.ts';
import { issueCall, type IssuedCall } from '../support/call-actions.ts';
import { metric, metricsOf } from '../support/driven-server.ts';
import {
  openMediaScene,
  showFrame,
  untouchedFrame,
  untouchedVideo,
  type MediaScene,
} from '../support/media-process-scene.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { testBridgeKeys } from '../support/test-server.ts';

const devices = ['TESTDEVICE01', 'SLEEPING01'] as const;
const key = testBridgeKeys.own;

interface Call extends IssuedCall {
  /** Of the media process where it is placed. */
  readonly url: string;
}

interface Scene extends MediaScene {
  /** The process ids by address, as devices are told it. */
  readonly pids: ReadonlyMap<string, number>;
}

async function openTwo(t: Ending, scheme: 'ws' | 'wss', overrides: readonly string[] = []): Promise<Scene> {
  const scene = await openMediaScene(t, ['media.processes=2', ...overrides]);
  const pids = new Map<string, number>();
  for (const which of [1, 2]) {
    const up = 'the media process is up';
    const { pid, port } = await scene.server.command.logged<{ pid: number; port: number }>(up, which);
    pids.set(`${scheme}://127.0.0.1:${port}`, pid);
  }
  return { ...scene, pids };
}

let rooms = 0;

/** That needs no decoder. */
async function newCall(scene: Scene, device_id: string = devices[0]): Promise<Call> {
  rooms += 1;
  const issued = await issueCall(scene, { ...untouchedVideo, device_id, msg_room_id: `room-${rooms}` });
  return { ...issued, url: issued.url ?? assert.fail('no media_url') };
}

function otherThan({ pids }: Scene, url: string): string {
  return [...pids.keys()].find((each) => each !== url) ?? assert.fail('there is one');
}

/** A leg that comes again and again, until it is let in. */
async function comesAgain<Leg>(connect: () => Promise<Leg>): Promise<Leg> {
  for (;;)
    try {
      return await connect();
    } catch {
      await new Promise((resolve) => setImmediate(resolve));
    }
}

let scene: Scene;
const endings: (() => void | Promise<void>)[] = [];
const file: Ending = { after: (end) => void endings.push(end) };
before(async () => {
  scene = await openTwo(file, 'ws');
});
after(async () => {
  for (const end of endings.toReversed()) await end();
});

test('calls are shared between the media processes, and their devices are told where each is', async () => {
  const [one, two] = [await newCall(scene, devices[0]), await newCall(scene, devices[1])];
  assert.deepEqual(new Set([one.url, two.url]), new Set(scene.pids.keys()));
});

test('legs that come to the wrong media process reach their call', async () => {
  const call = await newCall(scene);
  const wrong = otherThan(scene, call.url);
  const bridge = await BridgeLeg.connect({ url: call.url, key, session: call.session });
  const device = await DeviceLeg.connect({ url: wrong, token: call.token });
  await showFrame(device, bridge);
  const again = await BridgeLeg.connect({ url: wrong, key, session: call.session });
  assert.deepEqual(await bridge.closed, { code: 4409, reason: 'replaced' });
  await again.next('start');
  const shown = device.counts.videoFrames;
  again.frame(untouchedFrame());
  while (device.counts.videoFrames === shown) await device.ping();
  device.send({ type: 'hangup', reason: 1 });
  assert.deepEqual(
    (await Promise.all([device.closed, again.closed])).map(({ code }) => code),
    [1000, 1000],
  );
});

test('a request that was passed on is not passed on again', async () => {
  const call = await newCall(scene);
  await BridgeLeg.connect({ url: call.url, key, session: call.session });
  const wrong = otherThan(scene, call.url).replace('ws', 'http');
  const headers = { Authorization: `Bearer ${call.token}`, 'X-Reveille-Forwarded': '1' };
  const { status } = await fetch(`${wrong}/media/v1/downlink.mjpeg`, { headers });
  assert.equal(status, 503);
});

test('a refusal of the media process that has the call comes through the other one', async () => {
  const call = await newCall(scene);
  await DeviceLeg.connect({ url: call.url, token: call.token });
  const wrong = otherThan(scene, call.url).replace('ws', 'http');
  const answer = await fetch(`${wrong}/media/v1/bridge?session=${call.session}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  assert.equal(answer.status, 426, 'what is no upgrade is refused where it comes');
});

test('an idle bridge at one process takes the call of a device at the other, which comes again and is led to it', async () => {
  const call = await newCall(scene, devices[1]);
  const device = await DeviceLeg.connect({ url: call.url, token: call.token });
  const bridge = await BridgeLeg.connect({ url: otherThan(scene, call.url), key });
  // Calls of other tests wait for one, too.
  while ((await bridge.next('assign'))['session'] !== call.session) bridge.send({ type: 'refuse' });
  bridge.send({ type: 'accept' });
  await bridge.next('start');
  assert.deepEqual(await device.closed, { code: 4503, reason: 'moved' });
  await showFrame(await DeviceLeg.connect({ url: call.url, token: call.token }), bridge);
});

test('of two media processes one dies: its calls come back, and those of the other go on', async () => {
  const lost = await newCall(scene, devices[0]);
  let other = await newCall(scene, devices[1]);
  // Each that is on its way to a process makes the other one more likely for the next.
  while (other.url === lost.url) other = await newCall(scene, devices[1]);
  const open = async ({ url, token, session }: Call): Promise<[DeviceLeg, BridgeLeg]> => [
    await DeviceLeg.connect({ url, token }),
    await BridgeLeg.connect({ url, key, session }),
  ];
  const [lostLegs, [device, bridge]] = [await open(lost), await open(other)];
  await showFrame(device, bridge);
  let isUndisturbed = true;
  for (const leg of [device, bridge]) void leg.closed.then(() => (isUndisturbed = false));
  const pid = scene.pids.get(lost.url) ?? assert.fail('it is known');
  process.kill(pid, 'SIGSEGV');
  await Promise.all(lostLegs.map((leg) => leg.closed));
  // A device that has been told nothing else comes to either of them.
  const there = otherThan(scene, lost.url);
  const again = await comesAgain(() => DeviceLeg.connect({ url: there, token: lost.token }));
  const back = await comesAgain(() => BridgeLeg.connect({ url: lost.url, key, session: lost.session }));
  await showFrame(again, back);
  const shown = device.counts.videoFrames;
  bridge.frame(untouchedFrame());
  while (device.counts.videoFrames === shown) await device.ping();
  assert.ok(isUndisturbed);
  const died = 'the media process died; it is started again';
  assert.equal(scene.server.command.lines.filter((line) => line.includes(died)).length, 1);
});

test('the metrics tell of each media process', async () => {
  const metrics = await metricsOf(scene.server);
  assert.equal(metric(metrics, 'reveille_media_up'), 2);
  for (const process of [0, 1])
    assert.notEqual(metric(metrics, `reveille_media_room{media_process="${process}"}`), null, `${process}`);
});

test(
  'with certificates a leg is passed on to the process that shows its own',
  { skip: noOpenssl },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('first');
    const { certFile, keyFile } = certificate;
    const tls = [`media.tls_cert_file=${certFile}`, `media.tls_key_file=${keyFile}`];
    const secured = await openTwo(t, 'wss', tls);
    const call = await newCall(secured);
    const access: Pick<LegAccess, 'tls'> = { tls: { ca: readFileSync(certFile) } };
    const bridge = await BridgeLeg.connect({ ...access, url: call.url, key, session: call.session });
    const url = otherThan(secured, call.url);
    await showFrame(await DeviceLeg.connect({ ...access, url, token: call.token }), bridge);
  },
);
