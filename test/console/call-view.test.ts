/**
 * The call page in a browser: a server with its media process, a bridge whose phone rotates and which sends broken frames once,
 * and a device; watched by an operator, and by a viewer with a link. Source: calls-and-media.md, Legs and Resolution.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { BridgeLeg, DeviceLeg } from '../../src/tools/simulator/media-leg.ts';
import { BridgePlayback, PlaybackTally } from '../../src/tools/bridge/bridge-playback.ts';
import { openTone } from '../../src/tools/bridge/tone.ts';
import { testFilm } from '../../src/tools/bridge/test-picture.ts';
import { FrameCoder } from '../../src/tools/bridge/frame-coder.ts';
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
import { complaints, keepPicture, overflow } from './seen-page.ts';
import { testBridgeKeys, testCredentials, writeTestRegistry } from '../support/test-server.ts';

const framesPerSecond = 15;
const screen = { screen_width: 160, screen_height: 100 };

type Stream = 'source' | 'output' | 'camera';

/** A bridge that plays H.264 in sizes that the test chooses. */
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
    const coder = new FrameCoder(engine.value, 'h264', framesPerSecond);
    const tone = openTone(engine.value, { format: 'alaw', rate: 8000, channels: 1 });
    assert.ok(tone.ok);
    const onKeyFrameWanted = (): void => phone.#playback.wantKeyFrame();
    const leg = await BridgeLeg.connect({ url, key: testBridgeKeys.own, session, onKeyFrameWanted });
    await leg.next('start');
    const phone: TurnedPhone = new TurnedPhone(t, leg, (playing) => {
      const show = { film: testFilm(), coder, framesPerSecond, sizeAt: () => playing.size };
      const sendQueue = { bufferedBytes: 0, frame: (bytes: Uint8Array) => playing.#send(bytes) };
      return new BridgePlayback(
        new SystemClock(),
        { film: show, tone: tone.value },
        sendQueue,
        new PlaybackTally(),
      );
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
    const isVideo = bytes[0] === 1;
    if (this.#breaksNext && isVideo) bytes.fill(0x5a, mediaFrameHeaderBytes);
    if (isVideo) this.#breaksNext = false;
    this.leg.frame(bytes);
  }
}

/** A door station whose camera sends H.264. */
async function connectDevice(t: Ending, url: string, token: string): Promise<DeviceLeg> {
  const engine = await openEngine();
  assert.ok(engine.ok, 'an engine is needed');
  const coder = new FrameCoder(engine.value, 'h264', framesPerSecond);
  const onKeyFrameWanted = (): void => playback.wantKeyFrame();
  const leg = await DeviceLeg.connect({ url, token, onKeyFrameWanted });
  const sizeAt = (): Size => ({ width: 320, height: 240 });
  const show = { film: testFilm(), coder, framesPerSecond, sizeAt };
  const sink = { bufferedBytes: 0, frame: (bytes: Uint8Array) => leg.frame(bytes) };
  const playback = new BridgePlayback(
    new SystemClock(),
    { film: show, tone: null },
    sink,
    new PlaybackTally(),
  );
  t.after(async () => {
    playback.stop();
    await leg.terminate();
  });
  return leg;
}

/** The visible element of a stream. */
function seen(stream: Stream): string {
  return `document.querySelector('[data-stage="${stream}"] > :not([hidden])')`;
}

/** True in the page when both pictures have these sizes, in pixels and as text. */
function shows(source: string, output: string): string {
  const size = (stream: 'source' | 'output'): string =>
    `((image) => (image.naturalWidth ?? image.videoWidth ?? image.width) + '×' +
      (image.naturalHeight ?? image.videoHeight ?? image.height))(${seen(stream)} ?? {})`;
  return [
    `${size('source')} === '${source}'`,
    `${size('output')} === '${output}'`,
    `${text('source size')} === '${source}'`,
    `${text('output size')} === '${output}'`,
  ].join(' && ');
}

/** True in the page when the fifth of the stream's eight bars is magenta. */
function showsBars(stream: Stream): string {
  return `((image) => {
    const canvas = new OffscreenCanvas(80, 60);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0, 80, 60);
    const [red, green, blue] = context.getImageData(45, 5, 1, 1).data;
    return red > 150 && green < 60 && blue > 150;
  })(${seen(stream)})`;
}

/** True in the page when the device's screen lies within its figure. */
const screenFits = `(({ left, right }, figure) => left > figure.left && right < figure.right)(
  document.querySelector('.screen').getBoundingClientRect(),
  document.querySelector('.screen').closest('figure').getBoundingClientRect())`;

/** No picture is missing. */
const noNotes = `[...document.querySelectorAll('[data-missing]')].every((note) => note.hidden || note.closest('figure').hidden)`;

/** Records what the page plays; afterwards `loudness()` returns its loudness in the page, 0 to 1. */
const listening = `(() => {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(document.querySelector('audio').srcObject).connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  window.loudness = () => {
    analyser.getFloatTimeDomainData(samples);
    return Math.max(...samples.map(Math.abs));
  };
})()`;

const sound = `document.querySelector('button[aria-pressed]')`;
const pressed = `${sound}.getAttribute('aria-pressed')`;

/** Clicks the button, since browsers allow sound only after a user action. */
async function pressSound(browser: Chromium): Promise<void> {
  const place = `(({ x, y, width, height }) => [x + width / 2, y + height / 2])(${sound}.getBoundingClientRect())`;
  const [x, y] = await browser.evaluate<[number, number]>(place);
  await browser.click(x, y);
}

function text(place: string): string {
  return `(document.querySelector('[data-show="${place}"]')?.textContent ?? '')`;
}

/** True in the page when the table has a count of this result. */
function counts(result: string): string {
  return `document.querySelector('[data-result="${result}"]') !== null`;
}

/** Kills the process; resolves when its successor listens on the same port. */
async function endMediaProcess(command: LongCommand): Promise<void> {
  const isUp = (line: string): boolean => line.includes('"msg":"media process: started"');
  const first = await command.line(isUp);
  process.kill((JSON.parse(first) as { readonly pid: number }).pid, 'SIGKILL');
  await command.line((line) => isUp(line) && line !== first);
}

test('an operator sees both pictures of a call and hears it, even after a reload; a viewer sees them once by a link', async (t) => {
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
  const opsToken = findOpsToken(directory) ?? '';
  const origin = `http://127.0.0.1:${ports.ops}`;
  const ops = new OpsClient(origin, opsToken);

  const browser = await Chromium.launch(t);
  // A narrow screen cuts nothing off either.
  await browser.resize(380, 800);
  await browser.open(`${origin}/console#/calls`);
  await browser.until(`document.querySelector('#token') !== null`);
  await browser.evaluate(`document.querySelector('#token').value = ${JSON.stringify(opsToken)}`);
  await browser.evaluate(`document.querySelector('button[type="submit"]').click()`);
  const watchLink = `document.querySelector('tbody a.button')`;
  await browser.until(`${watchLink} !== null`);
  const page = await browser.evaluate<string>(`${watchLink}.href`);
  assert.equal(page, `${origin}/watch?session=${session}`);
  await browser.open(page);
  await browser.until(`${text('state')} === 'issued'`);

  const media = `ws://127.0.0.1:${ports.media}`;
  const device = await connectDevice(t, media, token);
  const phone = await TurnedPhone.connect(t, media, session);
  device.accept();
  phone.leg.report('connected');
  await browser.until(`${shows('640×480', '132×100')} && ${noNotes}`);
  await browser.until(`${text('state')} === 'connected' && ${text('device')} === 'device connected'`);
  await browser.until(`parseFloat(${text('output frames')}) > 5 && parseFloat(${text('source rate')}) > 5`);
  await browser.until(`/^[0-9.]+ [/] [0-9.]+ ms$/.test(${text('frame')})`);
  assert.deepEqual(
    [await browser.evaluate(text('way')), await browser.evaluate(text('viewers'))],
    ['WebRTC', '1'],
  );
  await browser.until(`${seen('source')}.getVideoPlaybackQuality().totalVideoFrames > 20`);
  await browser.until(`${showsBars('source')} && ${showsBars('output')} && ${showsBars('camera')}`);
  await browser.until(`${text('camera format')} === 'h264' && ${text('camera size')} === '320×240'`);
  await browser.until(`/^[0-9]+ [/] [0-9]+ ms$/.test(${text('network')})`);
  for (const [width, scheme] of [
    [380, 'dark'],
    [760, 'dark'],
    [1440, 'light'],
  ] as const) {
    await browser.resize(width, 1080);
    await browser.prefer(scheme);
    assert.equal(await browser.evaluate(overflow), 0, `${width} pixels need no scrolling to the side`);
    await browser.until(screenFits);
    assert.deepEqual(await complaints(browser), [], `at ${width}, ${scheme}`);
    await keepPicture(t, browser, width === 1440 ? 'call' : `call-${width}`);
  }
  assert.equal(await browser.evaluate(text('rebuilds')), '0');
  assert.equal(await browser.evaluate(counts('undecodable')), false);

  const isMuted = `document.querySelector('audio').srcObject.getAudioTracks()[0].muted`;
  assert.equal(await browser.evaluate(isMuted), true, 'no sound is sent before it is asked for');
  await pressSound(browser);
  await browser.until(`${pressed} === 'true'`);
  await browser.evaluate(listening);
  await browser.until('loudness() > 0.05');
  await pressSound(browser);
  await browser.until(`${pressed} === 'false'`);
  await browser.until('loudness() === 0');

  phone.size = { width: 240, height: 320 };
  await browser.until(shows('240×320', '74×100'));
  await browser.until(`Number(${text('rebuilds')}) >= 2`);

  phone.breakOne();
  await browser.until(counts('undecodable'));
  assert.match(await browser.evaluate(text('dropped')), /^[1-9]\d* dropped$/);
  phone.size = { width: 640, height: 480 };
  await browser.until(shows('640×480', '132×100'));

  await endMediaProcess(command);
  const again = await DeviceLeg.connect({ url: media, token });
  t.after(() => again.terminate());
  const turned = await TurnedPhone.connect(t, media, session);
  turned.size = { width: 320, height: 240 };
  const live = `${text('way')} === 'WebRTC' && ${text('viewers')} === '1'`;
  await browser.until(`${shows('320×240', '132×100')} && ${live} && ${noNotes}`);
  await browser.until(showsBars('output'));

  await browser.open(page);
  await browser.until(`${shows('320×240', '132×100')} && ${noNotes}`);
  assert.deepEqual(browser.problems, [], 'nothing was refused by the policy of the page');

  await browser.open(`${origin}/console`);
  await browser.before('delete window.RTCPeerConnection;');
  const { url } = await ops.change<{ readonly url: string }>('/v1/calls/watch', { session });
  await browser.open(url);
  const streamed = `${text('way')} === 'MJPEG' && ${text('viewers')} === '2'`;
  await browser.until(`${shows('320×240', '132×100')} && ${streamed} && ${noNotes}`);
  assert.equal(await browser.evaluate(`${sound}.disabled`), true);
  assert.equal(
    await browser.evaluate('location.href'),
    `${origin}/watch`,
    'the ticket is not in the address',
  );
  assert.equal(
    await browser.evaluate(`document.querySelector('nav').hidden`),
    true,
    'a viewer sees this call alone',
  );
  await keepPicture(t, browser, 'call-viewer');

  again.hangup();
  await browser.until(`${text('news')} === 'The call has ended: the device hung up.'`);
  assert.equal(await browser.evaluate(text('state')), 'ended');
  await keepPicture(t, browser, 'call-ended');

  for (const used of [`${origin}/watch`, url]) {
    await browser.open(used);
    await browser.until(
      `${text('news')} === 'This link was already used, or is older than a minute: ask for a new one.'`,
    );
    assert.match(await browser.evaluate('document.body.innerText'), /reveille calls watch/);
  }
  await keepPicture(t, browser, 'call-link-used');
  await browser.open(page);
  await browser.until(`${text('news')} === 'The call has ended.'`);
});
