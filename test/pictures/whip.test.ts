/**
 * Calls by WebRTC with third-party clients, against a server and its media process: a page in Chromium, and FFmpeg's WHIP muxer.
 * Source: RFC 9725; calls-and-media.md, Legs.
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
import { BridgePlayback, PlaybackTally } from '../../src/tools/bridge/bridge-playback.ts';
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

/** A page that has its call by WebRTC: it sends a drawn film and a tone, plays the received media, and counts. Text for a browser. */

/** The call as the page has seen it. */
interface WhipPageFigures {
  readonly framesDecoded: number;
  readonly width: number;
  readonly framesSent: number;
  /** Loudness of the received sound, between 0 and 1. */
  readonly loudness: number;
  readonly pictures: number;
  /** The size of the last picture, as `width×height`. */
  readonly picture: string;
  readonly commands: readonly string[];
  /** Statuses of the requests with candidates. */
  readonly patches: readonly number[];
}

/** Resolves to the status of the offer. */
function startWhip(endpoint: string, token: string): string {
  return `(${page})(${JSON.stringify(endpoint)}, ${JSON.stringify(token)})`;
}

const whipFigures = 'window.whip.figures()';
/** Resolves to the status of DELETE. */
const endWhip = 'window.whip.end()';

const page = String.raw`async (endpoint, token) => {
  const authorization = { Authorization: 'Bearer ' + token };
  document.body.replaceChildren();
  const add = (kind) => document.body.appendChild(document.createElement(kind));

  const canvas = add('canvas');
  [canvas.width, canvas.height] = [320, 240];
  const brush = canvas.getContext('2d');
  let frames = 0;
  setInterval(() => {
    brush.fillStyle = 'hsl(' + ((frames * 7) % 360) + ' 80% 50%)';
    brush.fillRect(0, 0, 320, 240);
    brush.fillStyle = 'white';
    brush.font = '80px sans-serif';
    brush.fillText(String((frames += 1)), 60, 150);
  }, 50);

  const sound = new AudioContext();
  const tone = sound.createOscillator();
  const microphone = sound.createMediaStreamDestination();
  tone.connect(microphone);
  tone.start();

  const connection = new RTCPeerConnection();
  const film = connection.addTransceiver(canvas.captureStream(15).getVideoTracks()[0]);
  const { codecs } = RTCRtpReceiver.getCapabilities('video');
  film.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType === 'video/H264'));
  connection.addTransceiver(microphone.stream.getAudioTracks()[0]);

  const video = add('video');
  [video.autoplay, video.muted] = [true, true];
  const shown = add('img');
  const meter = sound.createAnalyser();
  connection.ontrack = ({ track }) => {
    const stream = new MediaStream([track]);
    if (track.kind === 'video') video.srcObject = stream;
    else {
      // Chromium feeds Web Audio from a remote track only while an element plays it.
      const speaker = add('audio');
      [speaker.muted, speaker.srcObject] = [true, stream];
      void speaker.play();
      sound.createMediaStreamSource(stream).connect(meter);
    }
  };
  let pictures = 0;
  const commands = [];
  const patches = [];
  const hex = (byte) => byte.toString(16).padStart(2, '0');
  const listen = (channel) => {
    channel.binaryType = 'arraybuffer';
    channel.onmessage = ({ data }) => {
      if (channel.label === 'pictures') {
        pictures += 1;
        shown.src = URL.createObjectURL(new Blob([data], { type: 'image/jpeg' }));
      } else commands.push(Array.from(new Uint8Array(data), hex).join(''));
    };
  };
  // The page's own channel replaces the server's; the other one is the server's.
  listen(connection.createDataChannel('commands'));
  connection.ondatachannel = ({ channel }) => listen(channel);

  const candidates = [];
  let send = (candidate) => candidates.push(candidate);
  connection.onicecandidate = ({ candidate }) => {
    if (candidate !== null && candidate.candidate !== '') send(candidate);
  };
  await connection.setLocalDescription();
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: { ...authorization, 'Content-Type': 'application/sdp' },
    body: connection.localDescription.sdp,
  });
  if (answer.status !== 201) return answer.status;
  const session = new URL(answer.headers.get('Location'), endpoint);
  const etag = answer.headers.get('ETag');
  await connection.setRemoteDescription({ type: 'answer', sdp: await answer.text() });
  send = async ({ candidate, sdpMid }) => {
    const line = (name) => connection.localDescription.sdp.match(new RegExp('a=' + name + ':.*'))[0];
    const media = ['m=audio 9 UDP/TLS/RTP/SAVPF 0', 'a=mid:' + sdpMid, 'a=' + candidate, ''];
    const { status } = await fetch(session, {
      method: 'PATCH',
      headers: { ...authorization, 'Content-Type': 'application/trickle-ice-sdpfrag', 'If-Match': etag },
      body: [line('ice-ufrag'), line('ice-pwd'), ...media].join('\r\n'),
    });
    patches.push(status);
  };
  candidates.forEach(send);

  window.whip = {
    async figures() {
      const stats = [...(await connection.getStats()).values()];
      const find = (type) => stats.find((each) => each.type === type && each.kind === 'video') ?? {};
      const samples = new Float32Array(meter.fftSize);
      meter.getFloatTimeDomainData(samples);
      const { framesDecoded = 0, frameWidth: width = 0 } = find('inbound-rtp');
      const { framesSent = 0 } = find('outbound-rtp');
      const loudness = Math.max(...samples);
      const picture = shown.naturalWidth + '×' + shown.naturalHeight;
      return { framesDecoded, width, framesSent, loudness, pictures, picture, commands, patches };
    },
    async end() {
      const { status } = await fetch(session, { method: 'DELETE', headers: authorization });
      connection.close();
      void sound.close();
      return status;
    },
  };
  return answer.status;
}`;

const size = { width: 320, height: 240 };
const framesPerSecond = 15;

/** A bridge whose phone sends a film in H.264 and a tone, and the media that it receives from the device. */
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
      new PlaybackTally(),
    );
    t.after(async () => {
      playback.stop();
      await leg.terminate();
    });
    return new Phone(leg, came);
  }

  /** Resolves when this many have arrived from the device. */
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

/** The page's figures, once they satisfy the condition. */
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

test('calls by WebRTC: Chromium, which accepts H.264 and pictures, and the WHIP muxer of FFmpeg', async (t) => {
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
    // Sent on the channel of each side, if one opens after the other.
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
