/**
 * Calls that come and go by the hundred, through the relay and real transcoding threads: whatever is left in the middle of
 * a frame, nothing stays. Source: calls-and-media.md, The media process.
 */
import assert from 'node:assert/strict';
import { SystemClock } from '../../src/lib/system-clock.ts';
import type { Engine } from '../../src/media/codec/engine.ts';
import type { CallMedia } from '../../src/model/call.ts';
import { generateSessionId, type SessionId } from '../../src/model/ids.ts';
import type { SourceFrame } from '../../src/model/media/picture.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import type { DeviceOutput, JoinedLeg, LegOutput, PictureOutput } from '../../src/media/relay/send-queue.ts';
import { Relay } from '../../src/media/relay/relay.ts';
import { liveNatives } from '../../src/media/codec/native-census.ts';
import { TranscoderPool } from '../../src/media/transcoding/transcoder-pool.ts';
import { brokenFrame } from '../support/broken-frames.ts';
import { callMedia } from '../support/call-scene.ts';
import { h264Film, h265Film, jpegFilm, planarFrame } from '../support/coded-frames.ts';
import { engineTest } from '../support/engine-test.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';

const rounds = 30_000;
const liveMax = 40;
const size = { width: 96, height: 64 };
const medias: readonly CallMedia[] = [
  callMedia,
  { ...callMedia, resolution: 'fill_screen' },
  { ...callMedia, resolution: 'auto' },
  { ...callMedia, resolution: 'auto', downVideo: 'h264' },
  { ...callMedia, noVideo: true, upVideo: 'none', downVideo: 'none', screen: null, resolution: 'auto' },
];

/** Takes what it is sent at once, later, or never. */
class FickleOutput implements LegOutput, PictureOutput {
  readonly #chance: Chance;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  send(_header: Uint8Array, _payload: Uint8Array, sent: () => void): void {
    this.#take(sent);
  }

  sendPicture(_jpeg: Uint8Array, sent: () => void): void {
    this.#take(sent);
  }

  askKeyFrame(): void {}

  #take(sent: () => void): void {
    if (this.#chance.below(5) > 0) setImmediate(sent);
  }
}

interface LiveCall {
  readonly sessionId: SessionId;
  readonly media: CallMedia;
  readonly legs: JoinedLeg[];
}

function deviceOutput(chance: Chance): DeviceOutput {
  const out = new FickleOutput(chance);
  if (chance.below(4) === 0)
    return { takes: 'pictures', sendPicture: (jpeg, sent) => out.sendPicture(jpeg, sent) };
  return {
    takes: 'frames',
    send: (header, payload, sent) => out.send(header, payload, sent),
    askKeyFrame: () => out.askKeyFrame(),
  };
}

function joinSomehow(relay: Relay, { sessionId, media, legs }: LiveCall, chance: Chance): void {
  const joined = [
    () => relay.joinDevice(sessionId, media, deviceOutput(chance)),
    () => relay.joinBridge(sessionId, media, new FickleOutput(chance)),
    () => relay.watch(sessionId, chance.below(2) === 0 ? 'source' : 'output', new FickleOutput(chance)),
  ][chance.below(3)]?.();
  if (joined?.ok === true) legs.push(joined.value);
  else assert.equal(joined?.error, 'load');
}

function sendSomething(
  { legs }: LiveCall,
  frames: readonly SourceFrame[],
  chance: Chance,
  timestampMs: number,
): void {
  const leg = legs[chance.below(legs.length)];
  const good = frames[chance.below(frames.length)];
  assert(good !== undefined);
  const { format, isKeyFrame, width, height, payload } =
    chance.below(3) === 0 ? brokenFrame(good, chance) : good;
  const header = { kind: 'video', format, isKeyFrame, width, height, timestampMs } as const;
  leg?.frame(header, new Uint8Array(payload), encodeFrameHeader(header));
}

function askSomething({ legs }: LiveCall, chance: Chance): void {
  const leg = legs[chance.below(legs.length)];
  if (chance.below(2) === 0) leg?.wantKeyFrame();
  else leg?.wants({ audio: null, video: chance.below(3) === 0 ? null : 'h264' });
}

function framesOf(engine: Engine): SourceFrame[] {
  return [
    ...h264Film(engine, size, 4, [0, 2]),
    ...h265Film(engine, size, 4, 2),
    ...jpegFilm(engine, size, 2),
    planarFrame(size),
    planarFrame({ width: 33, height: 97 }),
  ];
}

engineTest('calls that come and go in the middle of their frames leave nothing behind', async (engine, t) => {
  const chance = chanceFrom(20_261_122);
  const clock = new SystemClock();
  const settings = {
    threads: 2,
    loadMax: 1,
    maxFps: 15,
    quality: 80,
    sourceMax: { width: 1920, height: 1080 },
  };
  const transcoders = await TranscoderPool.open({
    ...settings,
    clock,
    log: new FakeLog(),
    onWedged: assert.fail,
  });
  t.after(() => transcoders.close());
  const telemetry = new FakeTelemetry();
  const relay = new Relay({ clock, transcoders, telemetry, maxFps: 15 });
  const frames = framesOf(engine);
  const none = liveNatives();
  const calls: LiveCall[] = [];
  let opened = 0;
  for (let round = 0; round < rounds; round += 1) {
    if (calls.length < liveMax && chance.below(8) === 0) {
      const media = medias[chance.below(medias.length)] ?? callMedia;
      calls.push({ sessionId: generateSessionId(), media, legs: [] });
      opened += 1;
    }
    const at = chance.below(calls.length + 1);
    const call = calls[at];
    if (call === undefined) continue;
    const what = chance.below(20);
    if (what < 2) joinSomehow(relay, call, chance);
    else if (what === 2) call.legs.splice(chance.below(call.legs.length + 1), 1)[0]?.leave();
    else if (what === 3) for (const { legs } of calls.splice(at, 1)) for (const leg of legs) leg.leave();
    else if (what === 4) askSomething(call, chance);
    else if (call.legs.length > 0) sendSomething(call, frames, chance, round * 20);
    if (round % 50 === 0) await new Promise((turned) => setImmediate(turned));
    if (round % 500 === 0) relay.view(call.sessionId);
  }
  for (const { legs } of calls) for (const leg of legs) leg.leave();
  assert(opened > 200, `${opened} calls`);
  for (const result of ['encoded', 'passed', 'undecodable', 'slow_leg', 'no_key_frame', 'no_receiver'])
    assert(telemetry.count(`media frame ${result}`) > 20, result);
  assert.equal(relay.sessionCount, 0);
  for (const { sessionId } of calls) assert.equal(relay.view(sessionId), null);
  for (const census of await transcoders.countNatives()) assert.deepEqual(census, none);
});
