/**
 * The video of one direction of a call: passes each receiver the frames that it accepts as they are, and the pictures made from others.
 * Source: calls-and-media.md, Legs and Resolution.
 */
import type {
  DropCause,
  FrameDrop,
  FrameResult,
  Picture,
  PictureShape,
  VideoFrameFormat,
} from '../../model/media/picture.ts';
import type { VideoFrameHeader } from '../../protocol/media/frame-header.ts';
import type { OverdueReports } from './overdue-frames.ts';
import type {
  PictureAudience,
  PicturePipeline,
  PictureSource,
  UnpicturedReason,
} from './picture-pipeline.ts';
import type { Receiver } from './receiver.ts';
import { type FrameTally, StreamMeter } from './session-stats.ts';
import { type KeyFrameRequest, SourceReader, type SourceVideo } from './source-video.ts';
import { type ReservationDeps, TranscoderReservation } from './transcoder-reservation.ts';

export interface VideoDirectionDeps extends ReservationDeps {
  readonly overdue: OverdueReports;
}

export interface VideoSender {
  wantKeyFrame(): void;
  framesDropped?(cause: DropCause): void;
}

/** Counts every frame once, by its result for the receiving leg; without a leg, for the viewers, as soon as their picture is made. */
export class VideoDirection implements PictureAudience {
  readonly source: StreamMeter;
  readonly reservation: TranscoderReservation;
  readonly #sender: VideoSender;
  /** The leg first. */
  receivers: readonly Receiver[] = [];
  readonly #deps: VideoDirectionDeps;
  readonly #tally: FrameTally;
  readonly #reader: SourceReader;

  constructor(deps: VideoDirectionDeps, tally: FrameTally, sender: VideoSender) {
    this.source = new StreamMeter(deps.clock);
    this.reservation = new TranscoderReservation(deps, this);
    this.#sender = sender;
    this.#deps = deps;
    this.#tally = tally;
    this.#reader = new SourceReader(deps.clock);
  }

  wantKeyFrame(): void {
    this.#sender.wantKeyFrame();
  }

  receive(
    keyFrames: KeyFrameRequest,
    header: VideoFrameHeader,
    payload: Uint8Array<ArrayBuffer>,
    headerBytes: Uint8Array,
  ): void {
    const source = this.#reader.read(header, payload, headerBytes);
    this.source.add(source.format, source.size, payload.length);
    keyFrames.recordFrame(source);
    this.#distribute(source);
  }

  /** Pictures are made from the current format for some receiver. */
  get isPictured(): boolean {
    const format = this.source.view()?.format ?? null;
    return format !== null && this.receivers.some((receiver) => receiver.shapeOf(format) !== null);
  }

  /** A receiver cannot continue without a key frame, of the pictures made for it or of the frames passed on. */
  wantKeyFrameFor(receiver: Receiver): void {
    if (receiver.isShown) this.reservation.pipeline?.makeKey();
    else this.wantKeyFrame();
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
      this.#tally.pictureMade(this.#deps.clock.monotonicMs() - source.cameAtMs, result.workMs);
    const fates: PictureFate[] = [];
    for (const receiver of this.receivers) {
      const shape = receiver.shapeOf(source.format);
      if (shape === null) continue;
      const fate = result.drop ?? result.pictures[shapes.indexOf(shape)] ?? skipped(frame, result);
      if (isPicture(fate)) this.#show(receiver, fate, frame);
      fates.push(fate);
    }
    if (!isCounted) return;
    this.#countPictured(source.format, fates);
    const cause = result.cause ?? result.drop ?? fates.find(isDrop) ?? null;
    if (cause !== null && cause !== 'no_key_frame') this.#sender.framesDropped?.(cause);
  }

  overdue(): void {
    this.#deps.overdue.add();
  }

  unpictured({ isCounted }: PictureSource, why: UnpicturedReason): void {
    if (!isCounted) return;
    this.#tally.frame(this.receivers.length === 0 ? 'no_receiver' : why);
    if (why === 'load') this.#sender.framesDropped?.(why);
  }

  get leg(): Receiver | null {
    const first = this.receivers[0];
    return first?.isLeg === true ? first : null;
  }

  #show(receiver: Receiver, picture: Picture, { source, isCounted }: PictureSource): void {
    receiver.show(picture, source, isCounted);
    if (receiver.isShown && receiver.sendQueue.lacksKey) this.reservation.pipeline?.makeKey();
  }

  #distribute(source: SourceVideo): void {
    const { format } = source;
    const passing = this.receivers.filter((receiver) => receiver.passes(format));
    const isPictured = this.receivers.some((receiver) => receiver.shapeOf(format) !== null);
    const isCounted = !this.#countUnlessPictured(format);
    for (const receiver of passing) {
      receiver.pass(source);
      if (receiver.sendQueue.lacksKey) this.wantKeyFrame();
    }
    if (!isPictured) return this.reservation.pipeline?.requireKey();
    if (this.#deps.overdue.isRefused()) return this.#refuse(isCounted);
    const pipeline = this.#pipelineFor(source);
    if (pipeline !== null) pipeline.enqueue(source, passing.length > 0, isCounted);
    else this.#reportUnavailable(source, isCounted);
  }

  #refuse(isCounted: boolean): void {
    this.reservation.pipeline?.requireKey();
    if (!isCounted) return;
    this.#tally.frame('overdue');
    this.#sender.framesDropped?.('overdue');
  }

  /** Counts and reports a frame that no pipeline can convert. Coded video has its size, and so its cost, only in key frames. */
  #reportUnavailable({ format, size, isKey }: SourceVideo, isCounted: boolean): void {
    const lacksKey = size === null && !isKey;
    const why = this.reservation.refusal === 'load' ? 'load' : 'unsupported';
    if (isCounted) this.#tally.frame(lacksKey ? 'no_key_frame' : why);
    if (lacksKey) return this.wantKeyFrame();
    if (isCounted) this.#sender.framesDropped?.(why);
    for (const receiver of this.receivers)
      if (receiver.shapeOf(format) !== null) receiver.mediaUnavailable?.('video', why);
  }

  #pipelineFor({ size }: SourceVideo): PicturePipeline | null {
    if (size !== null) this.reservation.reserveFor(size);
    return this.reservation.pipeline;
  }

  /** False: the result is known only after the frame's turn in the pipeline. */
  #countUnlessPictured(format: VideoFrameFormat): boolean {
    const { leg } = this;
    const judges = leg === null ? this.receivers : [leg];
    if (judges.some((judge) => judge.passes(format))) {
      if (leg === null) this.#tally.frame('passed');
      return true;
    }
    if (judges.some((judge) => judge.shapeOf(format) !== null)) return false;
    this.#tally.frame(judges.length === 0 ? 'no_receiver' : 'unsupported');
    if (judges.length > 0) this.#sender.framesDropped?.('unsupported');
    return true;
  }

  /** `fates`: of the receivers of pictures from this format, in their order. */
  #countPictured(format: VideoFrameFormat, fates: readonly PictureFate[]): void {
    const [first] = fates;
    const { leg } = this;
    if (first === undefined) this.#tally.frame('no_receiver');
    else if (leg !== null && leg.shapeOf(format) !== null) {
      if (!isPicture(first)) this.#tally.frame(first);
    } else if (fates.some(isPicture)) this.#tally.frame('encoded');
    else if (!isPicture(first)) this.#tally.frame(first);
  }
}

type PictureFate = Picture | FrameDrop | Skipped;
type Skipped = 'paced' | 'slow_leg' | 'unsupported';

function isDrop(fate: PictureFate): fate is FrameDrop {
  return typeof fate === 'string' && !notDropped.has(fate);
}

/** The frame has no picture, or none is needed. */
const notDropped: ReadonlySet<string> = new Set<Skipped>(['paced', 'slow_leg', 'unsupported']);

function isPicture(fate: PictureFate): fate is Picture {
  return typeof fate === 'object';
}

/** Reason for no picture without a fault: the frame rate, no picture in the frame, or no receiver with room. */
function skipped({ isPaced }: PictureSource, { source }: FrameResult): Skipped {
  if (isPaced) return 'paced';
  return source === null ? 'unsupported' : 'slow_leg';
}
