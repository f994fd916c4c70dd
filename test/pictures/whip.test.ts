/**
 * Calls by WebRTC with clients that no one here wrote, against a server and its media process: a page in Chromium, and
 * FFmpeg's WHIP muxer. Source: RFC 9725; calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { openEngine } from '../../src/media/codec/engine.ts';
import { describeFrame } from '../../src/media/geometry/source-frame.ts';
import type { FrameHeader } from '../../src/protocol/media/frame-header.ts';
import { BridgePlayback, noPlaybackTally } from '../../src/tools/bridge/bridge-playback.ts';
import { FrameCoder } from '../../src/tools/bridge/frame-coder.ts';
import { openTone } from '../../src/tools/bridge/tone.ts';
import { testFilm } from '../../src/tools/bridge/test-picture.ts';
import { BridgeLeg } from '../../src/tools/simulator/media-leg.ts';
import { issueCall, type IssuedCall } from '../support/call-actions.ts';
import { runTool } from '../support/debian-tools.ts';
import { checkout } from '../support/checkout.ts';
import { Chromium } from '../support/chromium.ts';
import { openMediaScene, untouchedVideo, type MediaScene } from '../support/media-process-scene.ts';
import type { Ending } from '../support/temporary-store.ts';
import { testBridgeKeys } from '../support/test-server.ts';
import { endWhip, startWhip, whipFigures, type WhipPageFigures } from '../support/whip-page.ts';

const size = { width: 320, height: 240 };
const framesPerSecond = 15;

/** A bridge whose phone shows a film in H.264 and sounds a tone, and what comes to it from the device. */
class Phone {
  readonly leg: BridgeLeg;
  readonly came: { readonly video: Set<string>; keyFrames: number; readonly audio: Set<string> };

  private constructor(leg: BridgeLeg, came: Phone['came']) {
    this.leg = leg;
    this.came = came;
  }

  static async connect(t: Ending, { url }: MediaScene, { session }: IssuedCall): Promise<Phone> {
    const engine = await openEngine();
    assert.ok(engine.ok, 'an engine is needed');
    const came = { video: new Set<string>(), keyFrames: 0, audio: new Set<string>() };
    const onFrame = (header: FrameHeader, payload: Uint8Array): void => {
      came[header.kind].add(header.format);
      if (header.kind === 'video' && describeFrame({ ...header, payload: new Uint8Array(payload) }).isKey)
        came.keyFrames += 1;
    };
    const onKeyFrameWanted = (): void => playback.wantKeyFrame();
    const leg = await BridgeLeg.connect({ url, key: testBridgeKeys.own, session, onFrame, onKeyFrameWanted });
    await leg.next('start');
    const coder = new FrameCoder(engine.value, 'h264', framesPerSecond);
    const film = { film: testFilm(), coder, framesPerSecond, sizeAt: () => size };
    const tone = openTone(engine.value, { format: 'alaw', rate: 8000, channels: 1 });
    assert.ok(tone.ok);
    const playback: BridgePlayback = new BridgePlayback(
      new SystemClock(),
      { film, tone: tone.value },
      phoneOf(leg),
      noPlaybackTally(),
    );
    t.after(async () => {
      playback.stop();
      await leg.terminate();
    });
    return new Phone(leg, came);
  }

  /** Resolves when so many have come from the device. */
  async framesCome(videoFrames: number, audioPackets: number): Promise<void> {
    const { counts } = this.leg;
    while (counts.videoFrames < videoFrames || counts.audioPackets < audioPackets) await this.leg.ping();
  }

  /** Resolves to the reason. */
  async ended(): Promise<unknown> {
    const text = await this.leg.until(({ type, state }) => type === 'state' && state === 'ended');
    return text['reason'];
  }
}

function phoneOf(leg: BridgeLeg): { bufferedBytes: number; frame(bytes: Uint8Array): void } {
  return { bufferedBytes: 0, frame: (bytes) => leg.frame(bytes) };
}

function endpointOf({ url }: MediaScene): string {
  return `${url.replace('ws:', 'http:')}/media/v1/whip`;
}

/** The page's figures, once it says so of them. */
async function figures(
  browser: Chromium,
  isEnough: (figures: WhipPageFigures) => boolean,
): Promise<WhipPageFigures> {
  const deadlineMs = Date.now() + 15_000;
  for (;;) {
    const seen = await browser.evaluate<WhipPageFigures>(whipFigures);
    if (isEnough(seen)) return seen;
    assert.ok(Date.now() < deadlineMs, `never enough: ${JSON.stringify(seen)}`);
    await browser.evaluate('new Promise(requestAnimationFrame)');
  }
}

test('calls by WebRTC: Chromium, which takes H.264 and pictures, and the WHIP muxer of FFmpeg', async (t) => {
  const scene = await openMediaScene(t);
  const browser = await Chromium.launch(t);

  await t.test('a page sends and shows video and sound, and hangs up', async () => {
    const call = await issueCall(scene, { ...untouchedVideo });
    const phone = await Phone.connect(t, scene, call);
    assert.equal(await browser.evaluate(startWhip(endpointOf(scene), call.token)), 201);
    const seen = await figures(
      browser,
      ({ framesDecoded, framesSent, loudness, commands, patches }) =>
        framesDecoded > 45 && framesSent > 30 && loudness > 0.1 && commands.length > 0 && patches.length > 0,
    );
    await phone.framesCome(30, 100);
    const file = join(tmpdir(), 'reveille-whip-page.png');
    writeFileSync(file, await browser.screenshot());
    t.diagnostic(
      `the page, as it was seen: ${file}; ${JSON.stringify(seen)}; to the bridge: ${JSON.stringify(phone.leg.counts)}`,
    );
    assert.equal(seen.width, size.width);
    // On the channel of each side, when one opens behind the other.
    assert.deepEqual(new Set(seen.commands), new Set(['00200000']));
    assert.ok(seen.patches.every((status) => status === 204));
    assert.deepEqual([[...phone.came.video], [...phone.came.audio]], [['h264'], ['opus']]);
    assert.ok(phone.came.keyFrames > 0);
    const wanted = phone.leg.until(({ type, state }) => type === 'state' && state === 'connected');
    assert.equal((await wanted)['state'], 'connected');
    assert.equal(await browser.evaluate(endWhip), 200);
    assert.equal(await phone.ended(), 'hangup_device');
  });

  await t.test('a page is shown fitted pictures over the channel', async () => {
    const call = await issueCall(scene, { screen_width: 160, screen_height: 100 });
    const phone = await Phone.connect(t, scene, call);
    assert.equal(await browser.evaluate(startWhip(endpointOf(scene), call.token)), 201);
    const seen = await figures(browser, ({ pictures, picture }) => pictures > 20 && picture !== '0×0');
    assert.deepEqual([seen.picture, seen.framesDecoded], ['132×100', 0]);
    phone.leg.report('ended');
    await figures(browser, ({ commands }) => commands.includes('01200000'));
    assert.deepEqual(browser.problems, []);
  });

  await t.test('the WHIP muxer of FFmpeg sends a film', async () => {
    const call = await issueCall(scene, { ...untouchedVideo });
    const phone = await Phone.connect(t, scene, call);
    const film = join(scene.directory, 'film.mkv');
    await runTool('ffmpeg', [...filmOf(3), film]);
    const command = ['--import', 'tsx', ffmpegWhip, film, endpointOf(scene), call.token];
    const sender = spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'pipe'] });
    t.after(() => sender.kill('SIGKILL'));
    let printed = '';
    sender.stderr.on('data', (text: Buffer) => (printed += text.toString()));
    const [code] = (await once(sender, 'close')) as [number | null];
    assert.equal(code, 0, printed);
    await phone.leg.until(({ type, state }) => type === 'state' && state === 'connected');
    assert.equal(await phone.ended(), 'hangup_device');
    const { videoFrames, audioPackets } = phone.leg.counts;
    t.diagnostic(`from FFmpeg: ${videoFrames} frames of 45 and ${audioPackets} packets of 150`);
    assert.ok(videoFrames >= 44 && audioPackets >= 147, `${videoFrames} frames, ${audioPackets} packets`);
    assert.deepEqual([[...phone.came.video], [...phone.came.audio]], [['h264'], ['opus']]);
    assert.ok(phone.came.keyFrames > 0);
  });
});

const ffmpegWhip = fileURLToPath(new URL('test/support/ffmpeg-whip.ts', checkout));

/** Arguments of ffmpeg for a film of H.264 and Opus. */
function filmOf(seconds: number): string[] {
  const inputs = [`testsrc2=size=320x240:rate=${framesPerSecond}`, 'sine=frequency=440:sample_rate=48000'];
  const sources = inputs.flatMap((source) => ['-f', 'lavfi', '-i', source]).join(' ');
  const video = '-c:v libx264 -profile:v baseline -bf 0 -g 15 -pix_fmt yuv420p';
  return `-v error ${sources} -t ${seconds} ${video} -c:a libopus -ac 2`.split(' ');
}
