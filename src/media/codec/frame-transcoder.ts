/**
 * The transcoder of one session: takes a frame, returns pictures, synchronously, and owns the native objects for it. It runs on one
 * thread and receives its frames in order. Source: calls-and-media.md, The media process and Resolution.
 */
import type { Clock } from '../../lib/clock.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import type { Size } from '../../model/call.ts';
import { pictureShapesKeptMax } from '../../model/limits.ts';
import type {
  FrameDescription,
  FrameDrop,
  FrameResult,
  Picture,
  PictureShape,
  SourceFrame,
  VideoFrameFormat,
} from '../../model/media/picture.ts';
import { exceeds } from '../geometry/picture-plan.ts';
import { CodedSource, type FrameSource, type SourceStep, PlanarSource, JpegSource } from './frame-source.ts';
import type { Engine } from './engine.ts';
import { sourceSize, traitsOf } from './filter-chain.ts';
import { PictureMaker, type PictureSettings } from './picture-maker.ts';

export interface TranscoderSettings extends PictureSettings {
  /** In either orientation; larger sources are dropped. */
  readonly sourceMax: Size;
}

export class FrameTranscoder {
  readonly #engine: Engine;
  readonly #settings: TranscoderSettings;
  readonly #clock: Clock;
  #format: VideoFrameFormat | null = null;
  #source: FrameSource | null = null;
  /** Least recently used first. */
  readonly #makers: PictureMaker[] = [];
  #rebuilds = 0;

  constructor(engine: Engine, settings: TranscoderSettings, clock: Clock = new SystemClock()) {
    this.#engine = engine;
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Returns a result for any payload. `description`: of this frame. `isKeyWanted`: the pictures must be key frames. */
  transcode(
    frame: SourceFrame,
    shapes: readonly PictureShape[],
    description: FrameDescription,
    isKeyWanted = false,
  ): FrameResult {
    const startMs = this.#clock.monotonicMs();
    const rebuildsBefore = this.#rebuilds;
    const step = this.#decode(frame, description, shapes);
    const source = step === 'decoded' ? this.#source : null;
    const pictures = source === null ? [] : this.#makePictures(source, shapes, isKeyWanted);
    return {
      source: source === null ? null : sizeOf(source),
      pictures,
      ...dropOf(step),
      keyFrameWanted: this.#source?.keyFrameWanted ?? false,
      rebuilds: this.#rebuilds - rebuildsBefore,
      workMs: this.#clock.monotonicMs() - startMs,
    };
  }

  close(): void {
    this.#source?.close();
    this.#source = null;
    this.#format = null;
    for (const maker of this.#makers) maker.close();
    this.#makers.length = 0;
  }

  #decode(frame: SourceFrame, description: FrameDescription, shapes: readonly PictureShape[]): SourceStep {
    const { sourceMax } = this.#settings;
    const source = this.#sourceFor(frame.format);
    if (source === null) return 'rebuild_failed';
    const isCoded = frame.format === 'h264' || frame.format === 'h265';
    const isTooLarge = description.size !== null && exceeds(description.size, sourceMax, isCoded);
    const step = isTooLarge ? 'too_large' : source.decode(frame, description, shapes);
    // The header may lack the size; the picture has it.
    if (step !== 'too_large' && !(step === 'decoded' && exceeds(sizeOf(source), sourceMax, isCoded)))
      return step;
    source.skipTooLarge?.();
    return 'too_large';
  }

  /** Null: no decoder can be opened; the next frame retries. */
  #sourceFor(format: VideoFrameFormat): FrameSource | null {
    if (this.#source !== null && this.#format === format) return this.#source;
    this.#source?.close();
    this.#source = null;
    try {
      this.#source = openSource(this.#engine, format, this.#settings.sourceMax);
      this.#format = format;
    } catch {
      return null;
    }
    return this.#source;
  }

  #makePictures(
    source: FrameSource,
    shapes: readonly PictureShape[],
    isKeyWanted: boolean,
  ): (Picture | FrameDrop)[] {
    if (shapes.length === 0) return [];
    const traits = traitsOf(source.frame, source.reduction);
    return shapes.map((shape) => {
      const maker = this.#makerOf(shape);
      const before = maker.rebuilds;
      const picture = maker.make(source.frame, traits, isKeyWanted);
      this.#rebuilds += maker.rebuilds - before;
      return picture;
    });
  }

  #makerOf(shape: PictureShape): PictureMaker {
    const at = this.#makers.findIndex((maker) => isSameShape(maker.shape, shape));
    const [known] = at === -1 ? [] : this.#makers.splice(at, 1);
    const maker = known ?? new PictureMaker(this.#engine, shape, this.#settings);
    this.#makers.push(maker);
    if (this.#makers.length > pictureShapesKeptMax) this.#makers.shift()?.close();
    return maker;
  }
}

function dropOf(step: SourceStep): Pick<FrameResult, 'drop' | 'cause'> {
  if (step === 'cut' || step === 'too_costly') return { drop: 'undecodable', cause: step };
  return { drop: step === 'decoded' || step === 'waiting' ? null : step };
}

function sizeOf({ frame, reduction }: FrameSource): Size {
  return sourceSize({ width: frame.width, height: frame.height, reduction });
}

function openSource(engine: Engine, format: VideoFrameFormat, sourceMax: Size): FrameSource {
  if (format === 'i420') return new PlanarSource(engine);
  return format === 'mjpeg' ? new JpegSource(engine, sourceMax) : new CodedSource(engine, format, sourceMax);
}

function isSameShape(one: PictureShape, other: PictureShape): boolean {
  return (
    one.mode === other.mode &&
    one.format === other.format &&
    one.screen?.width === other.screen?.width &&
    one.screen?.height === other.screen?.height
  );
}
