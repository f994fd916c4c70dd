/**
 * Sound of calls through a whole server and its media process: a tone enters at one leg in every format, one after the other in one call,
 * and leaves at the other in the requested format. Source: calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { Engine } from '../../src/media/codec/engine.ts';
import { PacketTranscoder } from '../../src/media/codec/packet-transcoder.ts';
import { encodableSound, openSoundEncoder } from '../../src/media/codec/sound-encoder.ts';
import { encodingOf, type SoundShape } from '../../src/model/media/sound.ts';
import { askCredentials } from '../support/call-actions.ts';
import { engineTest } from '../support/engine-test.ts';
import type { MediaPeer } from '../support/media-peer.ts';
import { channelOf, findTone, sine, sineLevel } from '../support/sines.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import {
  audioFormats,
  developmentKey,
  placeWireCall,
  readWireFrame,
  wireFrame,
} from '../support/wire-call.ts';

/** Tones of the left and the right channel. */
const tones = [1000, 600];
/** 400 ms: short enough that no packet of a burst becomes stale. */
const packetsPerBurst = 20;
/** Skips the start of a burst, where decoders and encoders settle. */
const heard = { fromMs: 120, toMs: 360 };
const silent = { no_video: true, down_video_mt: '', video_res_mode: 'auto' };

let server: TestServer;
before(async () => {
  server = await startTestServer({ media: 'child', overrides: [`media.bridge_keys=${developmentKey}`] });
});
after(() => server.stop());

/** Packets of 20 ms of the tones, from this time on. */
function burst(engine: Engine, shape: SoundShape, fromMs: number): Buffer[] {
  const encoder = openSoundEncoder(engine, shape);
  const frames = Array.from({ length: packetsPerBurst }, (_, n) => {
    const timestamp = fromMs + n * 20;
    const samples = sine(
      { rate: shape.rate, chords: tones.slice(0, shape.channels).map((tone) => [tone]) },
      timestamp,
      20,
    );
    const payload = encoder.encode(samples) ?? assert.fail('it encodes');
    return wireFrame({ kind: 2, format: audioFormats[shape.format], timestamp }, payload);
  });
  encoder.close();
  return frames;
}

/** Sends one burst in each format, one after the other; resolves when the last has arrived. */
async function play(
  engine: Engine,
  [from, to]: readonly [MediaPeer, MediaPeer],
  shapes: readonly SoundShape[],
): Promise<void> {
  for (const [turn, shape] of shapes.entries()) {
    const fromMs = turn * packetsPerBurst * 20;
    for (const frame of burst(engine, shape, fromMs)) from.send(frame);
    const isThrough = (frame: Buffer): boolean => readWireFrame(frame).timestamp >= fromMs + heard.toMs;
    for (let seen = to.frames.length; !to.frames.some(isThrough); seen += 1) await to.framesCome(seen + 1);
  }
}

/** Asserts that every packet has this shape, follows the last after 20 ms, and that each burst has the tones. */
function judge(engine: Engine, leg: MediaPeer, shape: SoundShape, bursts: number): void {
  const frames = leg.frames.map(readWireFrame);
  assert.deepEqual(
    new Set(frames.map(({ kind, format }) => `${kind} ${format}`)),
    new Set([`2 ${audioFormats[shape.format]}`]),
  );
  for (const [index, { timestamp }] of frames.entries()) {
    const before = frames[index - 1]?.timestamp ?? timestamp - 20;
    assert.ok(timestamp > before && timestamp - before <= 60, `${before}, then ${timestamp}`);
  }
  for (let turn = 0; turn < bursts; turn += 1) {
    const fromMs = turn * packetsPerBurst * 20;
    const decoder = new PacketTranscoder(engine);
    const target: SoundShape = { format: 'pcm', rate: 16_000, channels: shape.channels };
    const packets = frames
      .filter(({ timestamp }) => timestamp >= fromMs && timestamp <= fromMs + heard.toMs)
      .flatMap(({ timestamp: timestampMs, payload }) => {
        const packet = { format: shape.format, timestampMs, payload: new Uint8Array(payload) };
        const { packets: made, drop } = decoder.transcode(packet, shape, [target]);
        assert.equal(drop, null, 'it can be decoded');
        return made[0] ?? [];
      })
      .filter(({ timestampMs }) => timestampMs >= fromMs + heard.fromMs);
    decoder.close();
    const samples = Int16Array.from(
      packets.flatMap(({ payload }) => Array.from(new Int16Array(payload.buffer))),
    );
    assert.ok(samples.length >= 3000 * shape.channels, 'there is sound to judge');
    for (let channel = 0; channel < shape.channels; channel += 1) {
      const tone = tones[channel] ?? 0;
      const { level, snr } = findTone(channelOf(samples, channel, shape.channels), 16_000, tone);
      const said = `burst ${turn}, channel ${channel}: ${level.toFixed(3)} of ${sineLevel}, ${snr.toFixed(1)} dB`;
      assert.ok(Math.abs(level / sineLevel - 1) < 0.2 && snr > 12, said);
    }
  }
}

const devices: readonly SoundShape[] = [
  { format: 'alaw', rate: 8000, channels: 1 },
  { format: 'alaw', rate: 16_000, channels: 2 },
  { format: 'opus', rate: 16_000, channels: 1 },
  { format: 'opus', rate: 16_000, channels: 2 },
];

for (const shape of devices)
  engineTest(
    `a device of ${shape.format}, ${shape.rate} Hz and ${shape.channels} channels hears what the bridge sends as PCM, A-law and Opus`,
    async (engine, t) => {
      const { device, bridge } = await placeWireCall(t, server, {
        ...silent,
        down_audio_mt: shape.format,
        audio_rate: shape.rate,
        audio_channels: shape.channels,
      });
      const sent = (['pcm', 'alaw', 'opus'] as const).map((format) => ({ ...shape, format }));
      await play(engine, [bridge, device], sent);
      judge(engine, device, shape, sent.length);
    },
  );

engineTest(
  'a bridge receives sound in the requested format, and in that of the device without a request',
  async (engine, t) => {
    const own: SoundShape = { format: 'alaw', rate: 16_000, channels: 1 };
    const { device, bridge } = await placeWireCall(t, server, {
      ...silent,
      down_audio_mt: own.format,
      audio_rate: own.rate,
      audio_channels: own.channels,
    });
    const wish: SoundShape = { format: 'pcm', rate: 48_000, channels: 1 };
    bridge.send(JSON.stringify({ type: 'uplink', audio: wish }));
    await bridge.ping();
    await play(engine, [device, bridge], [own, { ...own, format: 'opus' }]);
    judge(engine, bridge, wish, 2);
    bridge.send('{"type":"uplink"}');
    await bridge.ping();
    const before = bridge.frames.length;
    const [last] = burst(engine, own, 5000);
    assert.ok(last !== undefined);
    device.send(last);
    await bridge.framesCome(before + 1);
    assert.deepEqual(bridge.frames.at(-1), last);
  },
);

engineTest('msg of the credentials names sound that will not be converted', async (engine) => {
  const encoders = encodableSound(engine);
  for (const shape of [...devices, ...[8000, 16_000].map((rate) => ({ format: 'amr', rate }) as const)]) {
    const { format, rate } = shape;
    const body = { ...silent, msg_room_id: `${format}-${rate}`, down_audio_mt: format, audio_rate: rate };
    const { json } = await askCredentials(server, body);
    const said = `success, but no sound is converted to ${format} of ${rate} Hz here, for want of an encoder: the device hears what the bridge sends as ${format}`;
    assert.equal(json.code, 0);
    assert.equal(json['msg'], encoders.includes(encodingOf(shape)) ? 'success' : said);
    assert.deepEqual(Object.keys(json.data ?? {}), ['peer_id', 'token', 'media_url']);
  }
});
