/**
 * Transcoders without an engine: a frame stays with its transcoder until the test answers, and its payload is transferred. A
 * picture is text that names its payload and how it was made.
 */
import assert from 'node:assert/strict';
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
import {
  soundEncodings,
  type SampleShape,
  type SoundEncoding,
  type SoundPacket,
  type SoundResult,
  type SoundShape,
} from '../../src/model/media/sound.ts';
import type { TranscodingNeed } from '../../src/media/transcoding/transcoder-load.ts';
import type { Transcoders } from '../../src/media/transcoding/transcoder-pool.ts';
import type { SoundTranscoder, Transcoder } from '../../src/media/transcoding/transcoder-session.ts';

export interface TakenFrame {
  readonly frame: SourceFrame;
  readonly shapes: readonly PictureShape[];
  readonly isKeyWanted: boolean;
}

interface PictureOrder extends Omit<TakenFrame, 'shapes'> {
  readonly shape: PictureShape;
}

/** A task stays pending until the test answers. */
class HeldTask<Taken, Answer> {
  readonly taken: Taken[] = [];
  isClosed = false;
  #answer: ((answer: Answer) => void) | null = null;

  get isWorking(): boolean {
    return this.#answer !== null;
  }

  close(): void {
    assert.ok(!this.isClosed, 'a transcoder is closed once');
    this.isClosed = true;
  }

  protected awaitAnswer(taken: Taken): Promise<Answer> {
    assert.ok(!this.isClosed, 'nothing is asked of a transcoder that is closed');
    assert.ok(!this.isWorking, 'one task at a time');
    this.taken.push(taken);
    return new Promise((resolve) => (this.#answer = resolve));
  }

  protected async release(answerTo: (taken: Taken) => Answer): Promise<void> {
    const [answer, taken] = [this.#answer, this.taken.at(-1)];
    assert.ok(answer !== null && taken !== undefined, 'nothing is being worked on');
    this.#answer = null;
    answer(answerTo(taken));
    await afterThat();
  }
}

export class FakeTranscoder extends HeldTask<TakenFrame, FrameResult> implements Transcoder {
  hasTimeToSpare = true;
  /** Its first H.264 picture is a key frame. */
  #hasCoded = false;

  transcode(
    frame: SourceFrame,
    shapes: readonly PictureShape[],
    _description: FrameDescription,
    isKeyWanted = false,
  ): Promise<FrameResult> {
    const payload = structuredClone(frame.payload, { transfer: [frame.payload.buffer] });
    return this.awaitAnswer({ frame: { ...frame, payload }, shapes, isKeyWanted });
  }

  /** Answers the pending frame: decoded, with every requested picture, unless `result` overrides it. */
  answer(result: Partial<FrameResult> = {}): Promise<void> {
    return this.release((taken) => {
      const pictures = taken.shapes.map((shape) => {
        const isKeyWanted = taken.isKeyWanted || !this.#hasCoded;
        this.#hasCoded ||= shape.format === 'h264';
        return fakePicture({ ...taken, shape, isKeyWanted });
      });
      return {
        source: { width: 640, height: 480 },
        pictures: typeof result.drop === 'string' ? [] : pictures,
        drop: null,
        keyFrameWanted: false,
        rebuilds: 0,
        workMs: 2,
        ...result,
      };
    });
  }
}

interface TakenSound {
  readonly packet: SoundPacket;
  readonly assumed: SampleShape;
  readonly targets: readonly SoundShape[];
}

/** The output for a packet is text that names its payload and format. */
export class FakeSoundTranscoder extends HeldTask<TakenSound, SoundResult> implements SoundTranscoder {
  transcode(packet: SoundPacket, assumed: SampleShape, targets: readonly SoundShape[]): Promise<SoundResult> {
    return this.awaitAnswer({ packet, assumed, targets });
  }

  /** Answers the pending packet: one output per target, unless `result` overrides it. */
  answer(result: Partial<SoundResult> = {}): Promise<void> {
    return this.release(({ packet, targets }) => {
      const packets =
        typeof result.drop === 'string' ? [] : targets.map((target) => [madeOf(packet, target)]);
      return { packets, drop: null, rebuilds: 0, workMs: 1, ...result };
    });
  }
}

/** `atMs` defaults to that of the source. */
export function madeOf({ payload, timestampMs }: SoundPacket, target: SoundShape, atMs = timestampMs) {
  const { format, rate, channels } = target;
  const text = `${format} ${rate}/${channels} of ${Buffer.from(payload).toString()}`;
  return { timestampMs: atMs, payload: new TextEncoder().encode(text) };
}

export class FakeTranscoders implements Transcoders {
  readonly engine: string | null = 'fake';
  readonly opened: FakeTranscoder[] = [];
  readonly needs: TranscodingNeed[] = [];
  soundEncoders: readonly SoundEncoding[] = soundEncodings;
  readonly openedSound: FakeSoundTranscoder[] = [];
  /** Null: accepts every reservation. */
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

/** Resolves when those awaiting an answer have continued. */
export function afterThat(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** For H.264, `key` marks a key frame. */
function fakePicture({ frame, shape, isKeyWanted }: PictureOrder): Picture {
  const { mode, screen, format = 'mjpeg' } = shape;
  const isKey = format === 'mjpeg' || isKeyWanted;
  const how = format === 'mjpeg' ? mode : `h264${isKey ? ' key' : ''}`;
  const bytes = new TextEncoder().encode(`${how} of ${Buffer.from(frame.payload).toString()}`);
  return { format, isKey, size: screen ?? { width: 640, height: 480 }, bytes };
}
