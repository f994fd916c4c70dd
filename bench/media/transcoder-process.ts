/**
 * The transcoder path without calls: the transcoder pool of the media process with one worker, and the same work on this thread
 * alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transcoder } from '../../src/media/transcoding/transcoder-session.ts';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { openEngine } from '../../src/media/codec/engine.ts';
import { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import { jpegSize } from '../../src/media/geometry/jpeg.ts';
import { describeFrame } from '../../src/media/geometry/source-frame.ts';
import { TranscoderPool } from '../../src/media/transcoding/transcoder-pool.ts';
import type { Size } from '../../src/model/call.ts';
import type { SourceFrame } from '../../src/model/media/picture.ts';
import type { SoundPacket, SoundShape } from '../../src/model/media/sound.ts';
import { soundBlockMs } from '../../src/model/media/sound-limits.ts';
import type { Expectation } from '../../test/pictures/reference.ts';
import { readFrames } from '../../test/pictures/sources.ts';
import { answerQuestions } from '../harness/ipc.ts';
import type { ClipFile } from './natural-clips.ts';
import { readSound, type SoundFile } from './sounds.ts';

export interface PictureReading {
  readonly frames: number;
  /** Frames without a picture, or with a wrong size. */
  readonly wrong: number;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

interface PicturesAsked {
  readonly expectation: Expectation;
  readonly passes: number;
}

export interface SoundReading {
  /** Packets last 20 ms. */
  readonly packets: number;
  readonly missing: number;
  readonly cpuSeconds: number;
}

export type TranscoderProtocol = {
  load: { take: ClipFile; give: number };
  /** Transcodes the clip in this many concurrent sessions on one worker, each from the start. */
  pool: { take: PicturesAsked & { readonly sessions: number }; give: PictureReading };
  /** Runs the worker's steps on this thread, one frame after another, or at `framesPerSecond`. */
  steps: { take: PicturesAsked & { readonly framesPerSecond?: number }; give: PictureReading };
  /** Makes A-law of the sound in this many concurrent sessions, each from the start. */
  sound: { take: SoundFile & { readonly passes: number; readonly sessions: number }; give: SoundReading };
};

const narrow = { rate: 8000, channels: 1 };
const alaw: SoundShape = { format: 'alaw', ...narrow };
const settings = { quality: 80, maxFps: 15, sourceMax: { width: 1920, height: 1080 } };
/** Small enough to admit every session, because admission is not measured. */
const need = { request: { width: 16, height: 16 }, maxFps: 1 };

const ignore = (): void => undefined;
const complain = (facts: object, sentence: string): void => console.error(sentence, facts);
const pool = new TranscoderPool({
  ...settings,
  threads: 1,
  loadMax: 1,
  clock: new SystemClock(),
  log: { debug: ignore, info: ignore, warn: complain, error: complain },
  onWedged: (sentence) => complain({}, sentence),
});
await pool.start();
let frames: readonly SourceFrame[] = [];

class PictureMeter {
  readonly #output: Size;
  readonly #startMs = performance.now();
  readonly #startCpu = process.cpuUsage();
  #frames = 0;
  #wrong = 0;

  constructor(output: Size) {
    this.#output = output;
  }

  count([picture]: readonly unknown[]): void {
    this.#frames += 1;
    const isMade = typeof picture === 'object' && picture !== null && 'bytes' in picture;
    const size = isMade && picture.bytes instanceof Uint8Array ? jpegSize(picture.bytes) : null;
    if (size?.width !== this.#output.width || size.height !== this.#output.height) this.#wrong += 1;
  }

  read(): PictureReading {
    const { user, system } = process.cpuUsage(this.#startCpu);
    return {
      frames: this.#frames,
      wrong: this.#wrong,
      cpuSeconds: (user + system) / 1e6,
      wallSeconds: (performance.now() - this.#startMs) / 1000,
    };
  }
}

function openSession(): Transcoder {
  const opened = pool.open(need);
  if (!opened.ok) throw new Error(`the worker takes no session: ${opened.error}`);
  return opened.value;
}

async function play(
  transcoder: Transcoder,
  { shape }: Expectation,
  passes: number,
  meter: PictureMeter,
): Promise<void> {
  for (let pass = 0; pass < passes; pass += 1)
    for (const frame of frames) {
      // Payloads are transferred to the worker, so each frame needs a copy, like one received from a socket.
      const fresh = { ...frame, payload: new Uint8Array(frame.payload) };
      const { pictures } = await transcoder.transcode(fresh, [shape], describeFrame(frame));
      meter.count(pictures);
    }
}

/** Resolves with the number of packets made. */
async function playSound(packets: readonly SoundPacket[], passes: number): Promise<number> {
  const opened = pool.openSound();
  if (!opened.ok) throw new Error(`the worker takes no sound: ${opened.error}`);
  let made = 0;
  for (let pass = 0; pass < passes; pass += 1)
    for (const packet of packets) {
      const timestampMs = (pass * packets.length + packet.timestampMs / soundBlockMs) * soundBlockMs;
      const result = await opened.value.transcode({ ...packet, timestampMs }, narrow, [alaw]);
      made += result.packets[0]?.length ?? 0;
    }
  opened.value.close();
  return made;
}

answerQuestions<TranscoderProtocol>({
  load: (file) => {
    frames = readFrames(file.path, file);
    globalThis.gc?.();
    return frames.length;
  },
  pool: async ({ expectation, passes, sessions }) => {
    const transcoders = Array.from({ length: sessions }, openSession);
    const meter = new PictureMeter(expectation.output);
    await Promise.all(transcoders.map((transcoder) => play(transcoder, expectation, passes, meter)));
    const reading = meter.read();
    for (const transcoder of transcoders) transcoder.close();
    return reading;
  },
  steps: async ({ expectation, passes, framesPerSecond = Infinity }) => {
    const engine = await openEngine();
    if (!engine.ok) throw new Error(engine.error);
    const transcoder = new FrameTranscoder(engine.value, settings);
    const meter = new PictureMeter(expectation.output);
    let dueMs = performance.now();
    for (let pass = 0; pass < passes; pass += 1)
      for (const frame of frames) {
        dueMs += 1000 / framesPerSecond;
        const pauseMs = dueMs - performance.now();
        if (pauseMs > 0) await sleep(pauseMs);
        meter.count(transcoder.transcode(frame, [expectation.shape], describeFrame(frame)).pictures);
      }
    transcoder.close();
    return meter.read();
  },
  sound: async ({ passes, sessions, ...file }) => {
    const packets = readSound(file);
    const startCpu = process.cpuUsage();
    const made = await Promise.all(Array.from({ length: sessions }, () => playSound(packets, passes)));
    const { user, system } = process.cpuUsage(startCpu);
    const count = packets.length * passes * sessions;
    const missing = count - made.reduce((sum, ofSession) => sum + ofSession, 0);
    return { packets: count, missing, cpuSeconds: (user + system) / 1e6 };
  },
});
