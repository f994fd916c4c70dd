/**
 * The page that shows a call, in a browser: a server and its media process, a bridge whose phone is turned and whose
 * frames are broken once, and a device. Source: calls-and-media.md, Legs and Resolution.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { BridgePlayback, noPlaybackTally } from '../../src/tools/bridge/bridge-playback.ts';
import { testFilm } from '../../src/tools/bridge/test-picture.ts';
import { openFrameCoder } from '../../src/tools/bridge/frame-coder.ts';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { openEngine } from '../../src/media/codec/engine.ts';
import type { Size } from '../../src/model/call.ts';
import { mediaFrameHeaderBytes } from '../../src/model/limits.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { ApiClient } from '../support/api-client.ts';
import { callBody, issuance } from '../support/call-actions.ts';
import { Chromium } from '../support/chromium.ts';
import type { LongCommand } from '../support/cli-process.ts';
import { startServerProcess, withMedia } from '../support/server-process.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { testBridgeKeys, testCredentials, writeTestRegistry } from '../support/test-server.ts';

const framesPerSecond = 15;
const screen = { screen_width: 160, screen_height: 100 };

/** A bridge that plays H.264 of a size that the test chooses as it goes. */
class TurnedPhone {
  size: Size = { width: 640, height: 480 };
  #breaksNext = false;
  readonly leg: BridgeLeg;
  readonly #playback: BridgePlayback;

  private constructor(t: Ending, leg: BridgeLeg, playback: (phone: TurnedPhone) => BridgePlayback) {
    this.leg = leg;
    this.#playback = playback(this);
    t.after(async () => {
      this.stop();
      await leg.terminate();
    });
  }

  static async connect(t: Ending, url: string, session: string): Promise<TurnedPhone> {
    const engine = await openEngine();
    assert.ok(engine.ok, 'an engine is needed');
    const coder = openFrameCoder(engine.value, 'h264', framesPerSecond);
    const onKeyFrameWanted = (): void => phone.#playback.wantKeyFrame();
    const leg = await BridgeLeg.connect({ url, key: testBridgeKeys.own, session, onKeyFrameWanted });
    await leg.next('start');
    const phone: TurnedPhone = new TurnedPhone(t, leg, (playing) => {
      const show = { film: testFilm(), coder, framesPerSecond, sizeAt: () => playing.size };
      const sendQueue = { bufferedBytes: 0, frame: (bytes: Uint8Array) => playing.#send(bytes) };
      return new BridgePlayback(new SystemClock(), { film: show, tone: null }, sendQueue, noPlaybackTally());
    });
    return phone;
  }

  breakOne(): void {
    this.#breaksNext = true;
  }

  stop(): void {
    this.#playback.stop();
  }

  #send(bytes: Uint8Array): void {
    if (this.#breaksNext) bytes.fill(0x5a, mediaFrameHeaderBytes);
    this.#breaksNext = false;
    this.leg.frame(bytes);
  }
}

/** True in the page when both pictures have these sizes, and it says so. */
function shows(source: string, output: string): string {
  const picture = (id: string): string =>
    `(({ naturalWidth, naturalHeight }) => naturalWidth + '×' + naturalHeight)(document.getElementById('${id}'))`;
  return [
    `${picture('source')} === '${source}'`,
    `${picture('output')} === '${output}'`,
    `${text('source size')} === '${source}'`,
    `${text('output size')} === '${output}'`,
  ].join(' && ');
}

/** Neither picture is missing. */
const noNotes = `[...document.querySelectorAll('[data-missing]')].every((note) => note.hidden)`;

function text(place: string): string {
  return `document.querySelector('[data-show="${place}"]').textContent`;
}

/** By force; resolves when the next one is up, on the same port. */
async function endMediaProcess(command: LongCommand): Promise<void> {
  const isUp = (line: string): boolean => line.includes('"msg":"the media process is up"');
  const first = await command.line(isUp);
  process.kill((JSON.parse(first) as { readonly pid: number }).pid, 'SIGKILL');
  await command.line((line) => isUp(line) && line !== first);
}

test('a person sees the source and the output of a call side by side, in their sizes, and what was dropped', async (t) => {
  const directory = temporaryDirectory(t);
  const { ports, command } = await startServerProcess(t, [
    ...withMedia,
    `data.dir=${directory}`,
    `registry.file=${await writeTestRegistry(directory)}`,
  ]);
  const api = new ApiClient(ports.api, testCredentials.all);
  t.after(() => api.close());
  const { json } = await api.call({ ...issuance, body: JSON.stringify(callBody(screen)) });
  const { token, peer_id: peerId } = json.data as { readonly token: string; readonly peer_id: string };
  const session = new URL(peerId).searchParams.get('x_session') ?? '';
  const ops = new OpsClient(`http://127.0.0.1:${ports.ops}`, findOpsToken(directory) ?? '');
  const { url } = (await ops.change('/v1/calls/watch', { session })) as { readonly url: string };

  const browser = await Chromium.launch(t);
  // A phone is held to it first: there, too, nothing is cut off.
  await browser.resize(380, 800);
  await browser.open(url);
  assert.equal(await browser.evaluate('location.href'), `http://127.0.0.1:${ports.ops}/watch`);
  await browser.until(`${text('state')} === 'issued'`);

  const media = `ws://127.0.0.1:${ports.media}`;
  const device = await DeviceLeg.connect({ url: media, token });
  t.after(() => device.terminate());
  const phone = await TurnedPhone.connect(t, media, session);
  device.accept();
  phone.leg.report('connected');
  await browser.until(`${shows('640×480', '132×100')} && ${noNotes}`, 20_000);
  await browser.until(`${text('state')} === 'connected' && ${text('device')} === 'device connected'`);
  await browser.until(`parseFloat(${text('output rate')}) > 5 && parseFloat(${text('source bits')}) > 5`);
  await browser.until(`/^[0-9.]+ [/] [0-9.]+ ms$/.test(${text('frame')})`);
  const overflow = '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.documentElement)';
  assert.equal(await browser.evaluate(overflow), 0, 'a narrow window needs no scrolling to the side');
  const titleHeight = `document.querySelector('h1').getBoundingClientRect().height`;
  assert.ok(Number(await browser.evaluate(titleHeight)) < 80, 'the title has room beside nothing');
  const rebuildsHidden = `document.querySelector('[data-figure="rebuilds"]').hidden`;
  assert.equal(await browser.evaluate(rebuildsHidden), true, 'nothing has been rebuilt yet');
  await browser.resize(1280, 800);
  const isCorruptionTold = `!document.querySelector('tr[data-result="undecodable"]').hidden`;
  assert.equal(await browser.evaluate(isCorruptionTold), false);

  phone.size = { width: 240, height: 320 };
  await browser.until(shows('240×320', '74×100'));
  await browser.until(`!${rebuildsHidden} && Number(${text('rebuilds')}) >= 2`);

  phone.breakOne();
  await browser.until(isCorruptionTold);
  assert.match(await browser.evaluate(text('dropped')), /^[1-9]\d* dropped$/);
  assert.equal(await browser.evaluate(`document.querySelector('.total').classList.contains('bad')`), true);
  phone.size = { width: 640, height: 480 };
  await browser.until(shows('640×480', '132×100'));
  const file = join(tmpdir(), 'reveille-watch-page.png');
  writeFileSync(file, await browser.screenshot());
  t.diagnostic(`the page, as it was seen: ${file}`);

  assert.deepEqual(browser.problems, []);

  await endMediaProcess(command);
  const again = await DeviceLeg.connect({ url: media, token });
  t.after(() => again.terminate());
  const turned = await TurnedPhone.connect(t, media, session);
  turned.size = { width: 320, height: 240 };
  await browser.until(`${shows('320×240', '132×100')} && ${text('viewers')} === '2' && ${noNotes}`, 20_000);

  again.hangup();
  await browser.until(`${text('news')} === 'The call has ended: hangup_device.'`);
  assert.equal(await browser.evaluate(text('state')), 'ended');

  await browser.open(`http://127.0.0.1:${ports.ops}/watch`);
  assert.match(await browser.evaluate('document.body.innerText'), /reveille calls watch/);
});
