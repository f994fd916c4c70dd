/**
 * A server with two media processes: calls are distributed by load, a leg at the wrong one is redirected, and one that dies disturbs only
 * its own calls. Source: calls-and-media.md, The media process.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { issueCall, type IssuedCall } from '../support/call-actions.ts';
import { metric, metricsOf } from '../support/driven-server.ts';
import {
  openMediaScene,
  seesFrames,
  showFrame,
  untouchedFrame,
  untouchedVideo,
  type MediaScene,
} from '../support/media-process-scene.ts';
import { type Ending } from '../support/temporary-store.ts';
import { testBridgeKeys } from '../support/test-server.ts';

const devices = ['TESTDEVICE01', 'SLEEPING01'] as const;
const key = testBridgeKeys.own;

interface Call extends IssuedCall {
  /** Address of the media process where the call is placed. */
  readonly url: string;
}

interface Scene extends MediaScene {
  /** Process ids by the address that devices receive. */
  readonly pids: ReadonlyMap<string, number>;
}

async function openTwo(t: Ending): Promise<Scene> {
  const scene = await openMediaScene(t, ['media.processes=2']);
  const pids = new Map<string, number>();
  for (const which of [1, 2]) {
    const up = 'media process: started';
    const { pid, port } = await scene.server.command.logged<{ pid: number; port: number }>(up, which);
    pids.set(`ws://127.0.0.1:${port}`, pid);
  }
  return { ...scene, pids };
}

let rooms = 0;

/** A call without transcoding. */
async function newCall(scene: Scene, device_id: string = devices[0]): Promise<Call> {
  rooms += 1;
  const issued = await issueCall(scene, { ...untouchedVideo, device_id, msg_room_id: `room-${rooms}` });
  return { ...issued, url: issued.url ?? assert.fail('no media_url') };
}

function otherThan({ pids }: Scene, url: string): string {
  return [...pids.keys()].find((each) => each !== url) ?? assert.fail('there is one');
}

/** Refusal that redirects a leg to `url`. */
function isAt(url: string): object {
  const error = `the call is at another media listener of this service: connect to ${url}`;
  return { status: 421, reason: JSON.stringify({ error, media_url: url }) };
}

/** Retries until the leg is admitted. */
async function reconnect<Leg>(connect: () => Promise<Leg>): Promise<Leg> {
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
  scene = await openTwo(file);
});
after(async () => {
  for (const end of endings.toReversed()) await end();
});

test('calls are distributed over the media processes, and devices receive the address of theirs', async () => {
  const [one, two] = [await newCall(scene, devices[0]), await newCall(scene, devices[1])];
  assert.deepEqual(new Set([one.url, two.url]), new Set(scene.pids.keys()));
});

test('legs at the wrong media process are redirected to the right one', async () => {
  const call = await newCall(scene);
  const bridge = await BridgeLeg.connect({ url: call.url, key, session: call.session });
  const wrong = otherThan(scene, call.url);
  await assert.rejects(DeviceLeg.connect({ url: wrong, token: call.token }), isAt(call.url));
  await assert.rejects(BridgeLeg.connect({ url: wrong, key, session: call.session }), isAt(call.url));
  await showFrame(await DeviceLeg.connect({ url: call.url, token: call.token }), bridge);
});

test('a bridge at the other process accepts a call without legs, and its device is redirected there', async () => {
  const call = await newCall(scene, devices[1]);
  const url = otherThan(scene, call.url);
  const bridge = await BridgeLeg.connect({ url, key });
  // Calls of other tests wait for a bridge, too.
  while ((await bridge.next('assign'))['session'] !== call.session) bridge.send({ type: 'refuse' });
  bridge.send({ type: 'accept' });
  await bridge.next('start');
  await assert.rejects(DeviceLeg.connect({ url: call.url, token: call.token }), isAt(url));
  await showFrame(await DeviceLeg.connect({ url, token: call.token }), bridge);
});

test('one of two media processes dies: its calls recover, those of the other continue, and sleeping devices are not affected', async () => {
  const lost = await newCall(scene, devices[0]);
  let other = await newCall(scene, devices[1]);
  // A call placed at one process makes the other more likely for the next.
  while (other.url === lost.url) other = await newCall(scene, devices[1]);
  const open = async ({ url, token, session }: Call): Promise<[DeviceLeg, BridgeLeg]> => [
    await DeviceLeg.connect({ url, token }),
    await BridgeLeg.connect({ url, key, session }),
  ];
  const [lostLegs, [device, bridge]] = [await open(lost), await open(other)];
  await showFrame(device, bridge);
  const asleep = { deviceId: 'SLEEPING02', secret: 'secret of SLEEPING02' };
  const module = await SleepingModule.connect(scene.server.ports.sleep, asleep);
  let isUndisturbed = true;
  for (const leg of [device, bridge, module]) void leg.closed.then(() => (isUndisturbed = false));
  const pid = scene.pids.get(lost.url) ?? assert.fail('it is known');
  process.kill(pid, 'SIGSEGV');
  assert.equal((await scene.api.wake({ device_id: asleep.deviceId })).status, 202);
  await module.nextPacket();
  await Promise.all(lostLegs.map((leg) => leg.closed));
  const again = await reconnect(() => DeviceLeg.connect({ url: lost.url, token: lost.token }));
  const back = await reconnect(() => BridgeLeg.connect({ url: lost.url, key, session: lost.session }));
  await showFrame(again, back);
  const shown = device.counts.videoFrames;
  bridge.frame(untouchedFrame());
  await seesFrames(device, shown + 1);
  assert.ok(isUndisturbed);
  const died = 'media process: died; restarting';
  assert.equal(scene.server.command.lines.filter((line) => line.includes(died)).length, 1);
});

test('the metrics cover each media process', async () => {
  const metrics = await metricsOf(scene.server);
  assert.equal(metric(metrics, 'reveille_media_up'), 2);
  for (const process of [0, 1])
    assert.notEqual(metric(metrics, `reveille_media_room{media_process="${process}"}`), null, `${process}`);
});
