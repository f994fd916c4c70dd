/**
 * Our worker path without the calls around it: the transcoder pool of the media process with one worker, and the same work on this
 * thread alone.
 */
import { SystemClock } from '../../src/lib/system-clock.ts';
import { openEngine } from '../../src/media/codec/engine.ts';
import { FrameTranscoder } from '../../src/media/codec/frame-transcoder.ts';
import type { SourceFrame } from '../../src/model/media/picture.ts';
import type { Transcoder } from '../../src/core/ports/transcoders.ts';
import { TranscoderPool } from '../../src/media/transcoding/transcoder-pool.ts';
import type { Expectation } from '../../test/pictures/reference.ts';
import { readFrames } from '../../test/pictures/sources.ts';
import { answerQuestions } from '../load/ipc.ts';
import { PictureMeter } from '../load/picture-meter.ts';
import { pictureService, type PeerProtocol } from '../load/picture-protocol.ts';
import { describeFrame } from '../../src/media/geometry/source-frame.ts';

/** Those of a server where nobody says otherwise. */
const settings = { quality: 80, maxFps: 15, sourceMax: { width: 1920, height: 1080 } };
/** So little that each is let in: what is measured is how much a worker does, not whom it lets in. */
const need = { request: { width: 16, height: 16 }, maxFps: 1 };

const ignore = (): void => undefined;
const complain = (facts: object, sentence: string): void => console.error(sentence, facts);
const pool = await TranscoderPool.open({
  ...settings,
  threads: 1,
  loadMax: 1,
  clock: new SystemClock(),
  log: { debug: ignore, info: ignore, warn: complain, error: complain },
  onWedged: (sentence) => complain({}, sentence),
});
let frames: readonly SourceFrame[] = [];

function openSession(): Transcoder {
  const opened = pool.open(need);
  if (!opened.ok) throw new Error(`the worker takes no session: ${opened.error}`);
  return opened.value;
}

/** A payload is moved to the worker, so each frame needs one of its own, as one that has come from a socket is. */
function freshly(frame: SourceFrame): SourceFrame {
  return { ...frame, payload: new Uint8Array(frame.payload) };
}

async function play(
  transcoder: Transcoder,
  { shape }: Expectation,
  passes: number,
  meter: PictureMeter,
): Promise<void> {
  for (let pass = 0; pass < passes; pass += 1)
    for (const frame of frames) {
      const { pictures } = await transcoder.take(freshly(frame), [shape], describeFrame(frame));
      count(pictures, meter);
    }
}

function count([picture]: readonly unknown[], meter: PictureMeter): void {
  const isMade = typeof picture === 'object' && picture !== null && 'bytes' in picture;
  meter.count(isMade && picture.bytes instanceof Uint8Array ? picture.bytes : null);
}

answerQuestions<PeerProtocol>(pictureService, {
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
  steps: async ({ expectation, passes }) => {
    const engine = await openEngine();
    if (!engine.ok) throw new Error(engine.error);
    const transcoder = new FrameTranscoder(engine.value, settings);
    const meter = new PictureMeter(expectation.output);
    for (let pass = 0; pass < passes; pass += 1)
      for (const frame of frames)
        count(transcoder.take(frame, [expectation.shape], describeFrame(frame)).pictures, meter);
    transcoder.close();
    return meter.read();
  },
});
