/**
 * The two directions of a call's media: the downlink from the bridge to the device and to viewers, the uplink from the
 * device to the bridge. Source: calls-and-media.md, Legs and Resolution.
 */
import type { Clock } from '../../lib/clock.ts';
import type { FrameDrop, FrameResult, Picture, PictureShape, VideoFrameFormat } from '../../model/picture.ts';
import { asItComes } from '../../model/sound.ts';
import type { FrameHeader } from '../../protocol/media/frame-header.ts';
import { type FrameTally, StreamMeter } from './session-stats.ts';
import { type KeyFrameRequest, SourceReader, type SourceVideo, passedOn } from './source-video.ts';
import type {
  PictureAudience,
  PicturePipeline,
  PictureSource,
  UnpicturedReason,
} from './picture-pipeline.ts';
import type { Receiver } from './receiver.ts';
import type { SendQueue } from './send-queue.ts';

/**
 * Each receiver is passed the frames that it takes as they are, and is shown the pictures that the pipeline makes of the
 * others. Every frame is counted once, by what became of it for the device; while there is none, for the viewers, as soon
 * as their picture is made.
 */
export class Downlink implements PictureAudience {
  /** Null: no pictures are made. */
  pipeline: PicturePipeline | null = null;
  /** The device first. */
  receivers: readonly Receiver[] = [];
  readonly source: StreamMeter;
  readonly wantKeyFrame: () => void;
  readonly #clock: Clock;
  readonly #tally: FrameTally;
  readonly #reader: SourceReader;

  /** `wantKeyFrame`: of the bridge. */
  constructor(clock: Clock, tally: FrameTally, wantKeyFrame: () => void) {
    this.source = new StreamMeter(clock);
    this.wantKeyFrame = wantKeyFrame;
    this.#clock = clock;
    this.#tally = tally;
    this.#reader = new SourceReader(clock);
  }

  /** `keyFrames`: by which the bridge is asked for some. */
  take(
    keyFrames: KeyFrameRequest,
    header: FrameHeader,
    payload: Uint8Array<ArrayBuffer>,
    headerBytes: Uint8Array,
  ): void {
    if (header.kind === 'audio') return this.#takeAudio(header.timestampMs, payload, headerBytes);
    const source = this.#reader.read(header, payload, headerBytes);
    this.source.add(source.format, source.size, payload.length);
    keyFrames.cameBy(source);
    this.#takeVideo(source);
  }

  shapesWanted(format: VideoFrameFormat): readonly PictureShape[] {
    const shapes = new Set<PictureShape>();
    for (const receiver of this.receivers) {
      const shape = receiver.sendQueue.hasPicturesEnough ? null : receiver.shapeOf(format);
      if (shape !== null) shapes.add(shape);
    }
    return Array.from(shapes);
  }

  pictured(frame: PictureSource, shapes: readonly PictureShape[], result: FrameResult): void {
    const { source, isCounted } = frame;
    this.#tally.rebuilt(result.rebuilds);
    if (result.pictures.some(isPicture))
      this.#tally.pictureMade(this.#clock.monotonicMs() - source.cameAtMs, result.workMs);
    const fates: PictureFate[] = [];
    for (const receiver of this.receivers) {
      const shape = receiver.shapeOf(source.format);
      if (shape === null) continue;
      const fate = result.drop ?? result.pictures[shapes.indexOf(shape)] ?? skipped(frame, result);
      if (isPicture(fate)) receiver.show(fate, source, isCounted);
      fates.push(fate);
    }
    if (isCounted) this.#countPictured(source.format, fates);
  }

  unpictured({ isCounted }: PictureSource, why: UnpicturedReason): void {
    if (isCounted) this.#tally.frame(this.receivers.length === 0 ? 'no_receiver' : why);
  }

  get #device(): Receiver | null {
    const first = this.receivers[0];
    return first?.isDevice === true ? first : null;
  }

  #takeAudio(timestampMs: number, payload: Uint8Array, headerBytes: Uint8Array): void {
    const device = this.#device;
    if (device?.kind === 'frames') device.sendQueue.offerAudio(timestampMs, payload, headerBytes);
    else this.#tally.frame(device === null ? 'no_receiver' : 'unsupported');
  }

  #takeVideo(source: SourceVideo): void {
    const { format } = source;
    const passing = this.receivers.filter((receiver) => receiver.passes(format));
    const isPictured = this.receivers.some((receiver) => receiver.shapeOf(format) !== null);
    const isCounted = !this.#countUnlessPictured(format);
    for (const receiver of passing) {
      receiver.pass(source);
      if (receiver.sendQueue.lacksKey) this.wantKeyFrame();
    }
    if (!isPictured) this.pipeline?.requireKey();
    else if (this.pipeline !== null) this.pipeline.take(source, passing.length > 0, isCounted);
    else if (isCounted) this.#tally.frame('unsupported');
  }

  /** False: what becomes of the frame is known when its turn in the pipeline has come. */
  #countUnlessPictured(format: VideoFrameFormat): boolean {
    const device = this.#device;
    const judges = device === null ? this.receivers : [device];
    if (judges.some((judge) => judge.passes(format))) {
      if (device === null) this.#tally.frame('passed');
      return true;
    }
    if (judges.some((judge) => judge.shapeOf(format) !== null)) return false;
    this.#tally.frame(judges.length === 0 ? 'no_receiver' : 'unsupported');
    return true;
  }

  /** `fates`: for those that take pictures of this format, in the order of the receivers. */
  #countPictured(format: VideoFrameFormat, fates: readonly PictureFate[]): void {
    const [first] = fates;
    if (first === undefined) this.#tally.frame('no_receiver');
    else if (this.#device !== null && this.#device.shapeOf(format) !== null) {
      if (!isPicture(first)) this.#tally.frame(first);
    } else if (fates.some(isPicture)) this.#tally.frame('encoded');
    else if (!isPicture(first)) this.#tally.frame(first);
  }
}

type PictureFate = Picture | FrameDrop | Skipped;
type Skipped = 'paced' | 'slow_leg' | 'unsupported';

function isPicture(fate: PictureFate): fate is Picture {
  return typeof fate === 'object';
}

/** Why there is no picture, and nothing wrong: the rate; there is none in the frame; or nobody had room for one. */
function skipped({ isPaced }: PictureSource, { source }: FrameResult): Skipped {
  if (isPaced) return 'paced';
  return source === null ? 'unsupported' : 'slow_leg';
}

/** Everything is passed on, untouched. */
export class Uplink {
  /** The bridge's; null: it is not there. */
  sendQueue: SendQueue | null = null;
  /** Of the bridge that is there. */
  wish = asItComes;
  readonly #tally: FrameTally;
  readonly #reader: SourceReader;

  constructor(clock: Clock, tally: FrameTally) {
    this.#tally = tally;
    this.#reader = new SourceReader(clock);
  }

  /** `keyFrames`: by which the device is asked for some. */
  take(
    keyFrames: KeyFrameRequest,
    header: FrameHeader,
    payload: Uint8Array<ArrayBuffer>,
    headerBytes: Uint8Array,
  ): void {
    if (header.kind === 'video') this.#takeVideo(keyFrames, this.#reader.read(header, payload, headerBytes));
    else if (this.sendQueue === null) this.#tally.frame('no_receiver');
    else this.sendQueue.offerAudio(header.timestampMs, payload, headerBytes);
  }

  #takeVideo(keyFrames: KeyFrameRequest, source: SourceVideo): void {
    const { sendQueue } = this;
    keyFrames.cameBy(source);
    if (sendQueue === null) return this.#tally.frame('no_receiver');
    sendQueue.offerVideo(passedOn(source, true));
    if (sendQueue.lacksKey) keyFrames.want();
  }
}
