/**
 * Transcoders decode, scale and encode pictures on threads of their own. Source: calls-and-media.md, The media
 * process.
 */
import type { Result } from '../../lib/result.ts';
import type { Size } from '../../model/call.ts';
import type { WorkerLoad } from '../../model/media-capacity.ts';
import type {
  FrameDescription,
  FrameResult,
  PictureShape,
  ReservationRefusal,
  SourceFrame,
} from '../../model/picture.ts';

/** What a call will take, as far as it can be told before its first frame. */
export interface TranscodingNeed {
  /** What the bridge is asked for. */
  readonly request: Size;
  readonly maxFps: number;
}

/** The decoder, the scalers and the encoders of one session; they live on one worker. */
export interface Transcoder {
  /**
   * One frame at a time: the next is asked when this one is answered. The payload is moved: its buffer is detached.
   * `description`: the frame's. `isKeyWanted`: its pictures are to build on nothing before them; no, if left out.
   * Without shapes the frame is decoded only, for the sake of those behind it. Never rejects: what a dead worker had is
   * answered with the drop `engine`.
   */
  take(
    frame: SourceFrame,
    shapes: readonly PictureShape[],
    description: FrameDescription,
    isKeyWanted?: boolean,
  ): Promise<FrameResult>;
  /** Frees what it holds, behind what it still does. Nothing is asked of it any more. */
  close(): void;
}

export interface Transcoders {
  /** The version of the decoders' library; null: this machine has none. */
  readonly engine: string | null;
  /** By measured load: who does not fit is refused, not starved. `engine`: this machine has no decoder. */
  open(need: TranscodingNeed): Result<Transcoder, ReservationRefusal>;
  /** Whether `open` would take it, nothing reserved; null: it would. */
  refusalOf(need: TranscodingNeed): ReservationRefusal | null;
  /** The workers at the moment, in the order of their numbers. */
  workers(): readonly WorkerLoad[];
  /** Ends the workers behind what they still do. */
  close(): Promise<void>;
}
