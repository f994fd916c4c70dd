/** Tests the bridge kit of docs/examples/bridge, started as by `npm run example:bridge`: calls, and processes that die. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';
import { openEngine } from '../../src/media/codec/engine.ts';
import { DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { issueCall, mediaUrl } from '../support/call-actions.ts';
import { checkout } from '../support/checkout.ts';
import { startTestServer, testBridgeKeys, type TestServer } from '../support/test-server.ts';
import { ExampleProcess } from './example-process.ts';

const engine = await openEngine();
const skip = engine.ok ? false : engine.error;

let server: TestServer;
before(async () => {
  server = await startTestServer({ media: 'child' });
});
after(() => server.stop());

interface Step {
  readonly step: string;
  readonly session?: string | null;
  readonly process?: number;
}

class LauncherProcess extends ExampleProcess {
  constructor(t: { after(fn: () => void): void }, env: Readonly<Record<string, string>> = {}) {
    const main = fileURLToPath(new URL('docs/examples/bridge/launcher.ts', checkout));
    const access = { BRIDGE_URL: mediaUrl(server), BRIDGE_KEY: testBridgeKeys.own, BRIDGE_IDLE: '1' };
    const tsx = fileURLToPath(import.meta.resolve('tsx'));
    super(t, [process.execPath, '--import', tsx, main], { ...access, ...env });
  }

  async step(name: string, which = 1): Promise<Step> {
    return JSON.parse(await this.line((line) => (JSON.parse(line) as Step).step === name, which)) as Step;
  }
}

/** Joins the call as a device; `morePictures` waits for pictures. */
async function joinCall(token: string) {
  let pictures = 0;
  let check = (): void => undefined;
  const device = await DeviceLeg.connect({
    url: mediaUrl(server),
    token,
    onFrame: (header) => {
      if (header.kind === 'video' && header.format === 'mjpeg') pictures += 1;
      check();
    },
  });
  device.accept();
  const morePictures = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const wanted = pictures + count;
      check = () => void (pictures >= wanted && resolve());
      check();
    });
  return { device, morePictures };
}

test(
  'an idle bridge accepts a call, another takes its place, and the device receives pictures',
  { skip },
  async (t) => {
    const launcher = new LauncherProcess(t);
    await launcher.step('bridge.idle');
    const { session, token } = await issueCall(server, { msg_room_id: 'room-kit-1' });
    const assigned = await launcher.step('bridge.assigned');
    assert.equal(assigned.session, session);
    await launcher.step('bridge.idle', 2);
    const { device, morePictures } = await joinCall(token);
    await morePictures(3);
    device.hangup(1);
    assert.equal((await launcher.step('bridge.ended')).session, session);

    launcher.kill('SIGTERM');
    assert.equal((await launcher.ended).code, 0);
  },
);

test('a bridge that dies in a call is replaced by one that rejoins it', { skip }, async (t) => {
  const launcher = new LauncherProcess(t);
  await launcher.step('bridge.idle');
  const { token } = await issueCall(server, { msg_room_id: 'room-kit-2' });
  const { process: pid = 0 } = await launcher.step('bridge.assigned');
  const { device, morePictures } = await joinCall(token);
  await morePictures(1);
  process.kill(pid, 'SIGKILL');
  await launcher.step('bridge.died');
  await morePictures(3);
  device.hangup(1);
  await launcher.step('bridge.ended');
  launcher.kill('SIGTERM');
  await launcher.ended;
});

test('a refused or missing key ends the launcher with an error message', async (t) => {
  const refused = await new LauncherProcess(t, { BRIDGE_KEY: 'not-a-key' }).ended;
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /refuses the key of the bridges: BRIDGE_KEY/);
  const missing = await new LauncherProcess(t, { BRIDGE_KEY: '' }).ended;
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /^BRIDGE_KEY is missing/);
});
