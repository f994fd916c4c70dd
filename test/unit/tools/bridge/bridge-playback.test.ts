import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BridgePlayback,
  PlaybackTally,
  type FilmShow,
} from '../../../../src/tools/bridge/bridge-playback.ts';
import { mediaFrameHeaderBytes, mediaMessageBytesMax } from '../../../../src/model/limits.ts';
import { decodeFrameHeader, type FrameHeader } from '../../../../src/protocol/media/frame-header.ts';
import { openTone, type Tone } from '../../../../src/tools/bridge/tone.ts';
import type { Clock } from '../../../../src/lib/clock.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

const [landscape, portrait] = [
  { width: 320, height: 240 },
  { width: 240, height: 320 },
];

function toneOf(): Tone {
  const tone = openTone(null, { format: 'alaw', rate: 8000, channels: 1 });
  assert.ok(tone.ok);
  return tone.value;
}

/** A film whose pictures contain their time, and a coder that makes key frames on request. */
interface Scene<Time extends Clock> {
  readonly clock: Time;
  readonly framesPerSecond?: number;
  readonly changeEveryMs?: number | null;
  readonly tone?: Tone | null;
  /** Called for each requested picture. */
  readonly onPicture?: () => void;
}

function stage(options: Omit<Scene<DrivenClock>, 'clock'> = {}) {
  return stageOn({ clock: new DrivenClock(), ...options });
}

function stageOn<Time extends Clock>(scene: Scene<Time>) {
  const { clock, framesPerSecond = 10, changeEveryMs = null, tone = null } = scene;
  const sent: { readonly header: FrameHeader; readonly payload: Buffer }[] = [];
  const freed: string[] = [];
  const sendQueue = {
    bufferedBytes: 0,
    frame: (bytes: Uint8Array) => {
      const header = decodeFrameHeader(bytes);
      assert.ok(header.ok);
      sent.push({ header: header.value, payload: Buffer.from(bytes.subarray(mediaFrameHeaderBytes)) });
    },
  };
  let givesNothing = false;
  const film: FilmShow = {
    film: {
      framesPerSecond: null,
      pictureAt: (atMs) => {
        scene.onPicture?.();
        return new Uint8Array(Buffer.from(String(Math.round(atMs))));
      },
      close: () => void freed.push('film'),
    },
    coder: {
      format: 'h264',
      code: (payload, _size, isKeyFrame) => (givesNothing ? null : { isKeyFrame, payload }),
      close: () => void freed.push('coder'),
    },
    framesPerSecond,
    sizeAt: (atMs) =>
      changeEveryMs !== null && Math.floor(atMs / changeEveryMs) % 2 === 1 ? portrait : landscape,
  };
  const tally = new PlaybackTally();
  const playback = new BridgePlayback(clock, { film, tone }, sendQueue, tally);
  const video = () => sent.flatMap(({ header }) => (header.kind === 'video' ? [header] : []));
  const fail = (fails: boolean): void => void (givesNothing = fails);
  return { clock, sent, freed, sendQueue, tally, playback, video, fail };
}

test('frames are played at their rate, with their times as timestamps, starting with a key frame', () => {
  const { clock, sent, video, tally } = stage();
  clock.advance(300);
  assert.deepEqual(
    video().map(({ timestampMs, isKeyFrame }) => [timestampMs, isKeyFrame]),
    [
      [0, true],
      [100, false],
      [200, false],
      [300, false],
    ],
  );
  assert.equal(sent[3]?.payload.toString(), '300', 'the picture of that moment');
  assert.deepEqual([tally.frames, tally.keyFrames, tally.skipped], [4, 1, 0]);
  assert.equal(tally.bytes, 4 * mediaFrameHeaderBytes + '0100200300'.length);
});

test('a requested key frame is the next frame, and only that', () => {
  const { clock, video, playback } = stage();
  clock.advance(150);
  playback.wantKeyFrame();
  clock.advance(250);
  assert.deepEqual(
    video().map(({ isKeyFrame }) => isKeyFrame),
    [true, false, true, false, false],
  );
});

test('the size changes at its time', () => {
  const { clock, video, tally } = stage({ changeEveryMs: 200 });
  clock.advance(450);
  assert.deepEqual(
    video().map(({ width }) => width),
    [320, 320, 240, 240, 320],
  );
  assert.deepEqual(tally.size, landscape);
});

test('frames are skipped for a slow listener, and playback resumes with a key frame', () => {
  const { clock, video, sendQueue, tally } = stage();
  clock.advance(50);
  sendQueue.bufferedBytes = mediaMessageBytesMax + 1;
  clock.advance(200);
  assert.equal(video().length, 1);
  assert.equal(tally.skipped, 2);
  sendQueue.bufferedBytes = 0;
  clock.advance(100);
  assert.deepEqual(
    video().map(({ timestampMs, isKeyFrame }) => [timestampMs, isKeyFrame]),
    [
      [0, true],
      [300, true],
    ],
  );
});

test('a frame that the coder drops is skipped, and followed by a key frame', () => {
  const { clock, video, tally, fail } = stage();
  clock.advance(50);
  fail(true);
  clock.advance(100);
  fail(false);
  clock.advance(100);
  assert.deepEqual(
    video().map(({ timestampMs, isKeyFrame }) => [timestampMs, isKeyFrame]),
    [
      [0, true],
      [200, true],
    ],
  );
  assert.equal(tally.skipped, 1);
});

test('the tone has an A-law packet every 20 ms, in addition to the frames', () => {
  const { clock, sent, tally } = stage({ tone: toneOf() });
  clock.advance(100);
  const packets = sent.filter(({ header }) => header.kind === 'audio');
  assert.deepEqual(
    packets.map(({ header }) => header.timestampMs),
    [0, 20, 40, 60, 80, 100],
  );
  assert.ok(packets.every(({ payload }) => payload.length === 160));
  assert.deepEqual([tally.audioPackets, tally.frames], [6, 2]);
});

test('an audio-only call plays only the tone, and a call without either plays nothing', () => {
  const clock = new DrivenClock();
  const kinds: string[] = [];
  const sendQueue = {
    bufferedBytes: 0,
    frame: (bytes: Uint8Array) => void kinds.push(bytes[0] === 2 ? 'audio' : 'video'),
  };
  void new BridgePlayback(clock, { film: null, tone: toneOf() }, sendQueue, new PlaybackTally());
  void new BridgePlayback(clock, { film: null, tone: null }, sendQueue, new PlaybackTally());
  clock.advance(20);
  assert.deepEqual(kinds, ['audio', 'audio']);
});

test('a stopped playback sends nothing more, and frees film, coder and tone', () => {
  const freedTones: string[] = [];
  const tone = { ...toneOf(), close: () => void freedTones.push('tone') };
  const { clock, sent, playback, freed } = stage({ tone });
  clock.advance(100);
  const before = sent.length;
  playback.stop();
  clock.advance(1000);
  assert.equal(sent.length, before);
  assert.deepEqual([...freed, ...freedTones].toSorted(), ['coder', 'film', 'tone']);
  assert.equal(clock.pendingTimers, 0);
});

/** Timestamps of the sent frames. */
function momentsOf({ video }: { readonly video: () => readonly FrameHeader[] }): readonly number[] {
  return video().map(({ timestampMs }) => timestampMs);
}

test('an hour of 15 frames a second has 54 000 frames, despite rounding errors', () => {
  const { clock, tally } = stage({ framesPerSecond: 15 });
  clock.advance(3_600_000 - 1);
  assert.deepEqual([tally.frames, tally.skipped], [54_000, 0]);
});

/** A clock whose timers fire when the test fires them, early or late. */
function looseClock() {
  const due: (() => void)[] = [];
  const scene = { nowMs: 0, fire: () => due.shift()?.() };
  const clock: Clock = {
    monotonicMs: () => scene.nowMs,
    wallMs: () => scene.nowMs,
    after: (_delayMs, run) => {
      due.push(run);
      return () => undefined;
    },
    every: () => () => undefined,
  };
  return { scene, clock };
}

test('late frames are skipped, not sent in a burst', () => {
  const { scene, clock } = looseClock();
  const late = (): void => void (scene.nowMs ||= 350);
  const playback = stageOn({ clock, onPicture: late });
  scene.fire();
  scene.fire();
  assert.deepEqual(momentsOf(playback), [0, 300], 'the one that is due now, late');
  scene.fire();
  scene.nowMs = 400;
  scene.fire();
  assert.deepEqual(momentsOf(playback), [0, 300, 400], 'and again in step');
  assert.equal(playback.tally.skipped, 2);
});

test('a timer that fires early sends nothing', () => {
  const { scene, clock } = looseClock();
  const playback = stageOn({ clock });
  scene.fire();
  scene.nowMs = 99.5;
  scene.fire();
  assert.deepEqual(momentsOf(playback), [0]);
  scene.nowMs = 100;
  scene.fire();
  assert.deepEqual(momentsOf(playback), [0, 100]);
});

test('no frame follows a stop from within a frame', () => {
  const scene = stage({ onPicture: () => scene.playback.stop() });
  scene.clock.advance(1000);
  assert.deepEqual([momentsOf(scene), scene.clock.pendingTimers], [[0], 0]);
});
