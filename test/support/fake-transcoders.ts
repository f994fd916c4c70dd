/**
 * Transcoders without an engine: a frame lies with its transcoder until the test answers it, and its payload is moved
 * away, as it would be. A picture is text that says of which payload it was made, and how.
 */
import assert from 'node:assert/strict';
import { FakeSoundTranscoder } from './fake-sound-transcoder.ts';
import { fail, succeed, type Result } from '../../src/lib/result.ts';
import type {
  ReservationRefusal,
  FrameDescription,
  FrameResult,
  Picture,
  PictureShape,
  SourceFrame,
} from '../../src/model/media/picture.ts';
import type { WorkerLoad } from '../../src/model/media/media-capacity.ts';
import { soundEncodings, type SoundEncoding } from '../../src/model/media/sound.ts';
import type {
  SoundTranscoder,
  Transcoder,
  Transcoders,
  TranscodingNeed,
} from '../../src/core/ports/transcoders.ts';

export interface TakenFrame {
  readonly frame: SourceFrame;
  readonly shapes: readonly PictureShape[];
  readonly isKeyWanted: boolean;
}

interface PictureOrder extends Omit<TakenFrame, 'shapes'> {
  readonly shape: PictureShape;
}

export class FakeTranscoder implements Transcoder {
  readonly taken: TakenFrame[] = [];
  isClosed = false;
  hasTimeToSpare = true;
  /** Its first picture of H.264 builds on nothing. */
  #hasCoded = false;
  #answer: ((result: FrameResult) => void) | null = null;

  get isWorking(): boolean {
    return this.#answer !== null;
  }

  take(
    frame: SourceFrame,
    shapes: readonly PictureShape[],
    _description: FrameDescription,
    isKeyWanted = false,
  ): Promise<FrameResult> {
    assert.ok(!this.isClosed, 'nothing is asked of a transcoder that is closed');
    assert.ok(!this.isWorking, 'one frame at a time');
    const payload = structuredClone(frame.payload, { transfer: [frame.payload.buffer] });
    this.taken.push({ frame: { ...frame, payload }, shapes, isKeyWanted });
    return new Promise((resolve) => (this.#answer = resolve));
  }

  close(): void {
    assert.ok(!this.isClosed, 'a transcoder is closed once');
    this.isClosed = true;
  }

  /** The frame that it has: decoded, with every picture that was asked for, but for what is said here. */
  async answer(result: Partial<FrameResult> = {}): Promise<void> {
    const [answer, taken] = [this.#answer, this.taken.at(-1)];
    assert.ok(answer !== null && taken !== undefined, 'no frame is being worked on');
    this.#answer = null;
    const pictures = taken.shapes.map((shape) => {
      const isKeyWanted = taken.isKeyWanted || !this.#hasCoded;
      this.#hasCoded ||= shape.format === 'h264';
      return fakePicture({ ...taken, shape, isKeyWanted });
    });
    const done: FrameResult = {
      source: { width: 640, height: 480 },
      pictures: typeof result.drop === 'string' ? [] : pictures,
      drop: null,
      keyFrameWanted: false,
      rebuilds: 0,
      workMs: 2,
    };
    answer({ ...done, ...result });
    await afterThat();
  }
}

export class FakeTranscoders implements Transcoders {
  readonly engine: string | null = 'fake';
  readonly opened: FakeTranscoder[] = [];
  readonly needs: TranscodingNeed[] = [];
  soundEncoders: readonly SoundEncoding[] = soundEncodings;
  readonly openedSound: FakeSoundTranscoder[] = [];
  /** Null: who comes is taken. */
  refusal: ReservationRefusal | null = null;

  get live(): readonly FakeTranscoder[] {
    return this.opened.filter(({ isClosed }) => !isClosed);
  }

  open(need: TranscodingNeed): Result<Transcoder, ReservationRefusal> {
    this.needs.push(need);
    if (this.refusal !== null) return fail(this.refusal);
    const transcoder = new FakeTranscoder();
    this.opened.push(transcoder);
    return succeed(transcoder);
  }

  openSound(): Result<SoundTranscoder, ReservationRefusal> {
    if (this.refusal !== null) return fail(this.refusal);
    const transcoder = new FakeSoundTranscoder();
    this.openedSound.push(transcoder);
    return succeed(transcoder);
  }

  refusalOf(): ReservationRefusal | null {
    return this.refusal;
  }

  workers(): readonly WorkerLoad[] {
    return [];
  }

  async close(): Promise<void> {}
}

/** What waits for an answer has gone on from it. */
export function afterThat(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** H.264 says by `key` that it builds on nothing before it. */
function fakePicture({ frame, shape, isKeyWanted }: PictureOrder): Picture {
  const { mode, screen, format = 'mjpeg' } = shape;
  const isKey = format === 'mjpeg' || isKeyWanted;
  const how = format === 'mjpeg' ? mode : `h264${isKey ? ' key' : ''}`;
  const bytes = new TextEncoder().encode(`${how} of ${Buffer.from(frame.payload).toString()}`);
  return { format, isKey, size: screen ?? { width: 640, height: 480 }, bytes };
}
