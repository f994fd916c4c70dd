/**
 * Transcoders decode, scale and encode pictures, and decode, resample and encode sound, on threads of their own. Source: calls-and-media.md, The media
 * process.
 */
import type { Result } from '../../lib/result.ts';
import type { Size } from '../../model/call.ts';
import type { WorkerLoad } from '../../model/media/media-capacity.ts';
import type {
  SoundEncoding,
  SampleShape,
  SoundPacket,
  SoundResult,
  SoundShape,
} from '../../model/media/sound.ts';
import type {
  FrameDescription,
  FrameResult,
  PictureShape,
  ReservationRefusal,
  SourceFrame,
} from '../../model/media/picture.ts';

/** What a call will take, as far as it can be told before its first frame. */
export interface TranscodingNeed {
  /** What the bridge is asked for. */
  readonly request: Size;
  readonly maxFps: number;
}

/** The decoder, the scalers and the encoders of one session; they live on one worker. */
export interface Transcoder {
  /** Its worker has time for all that its sessions take at the moment. */
  readonly hasTimeToSpare: boolean;
  /**
   * One frame at a time: the next is asked when this one is answered. The payload is moved: its buffer is detached.
   * `description`: the frame's. `isKeyWanted`: its pictures are to build on nothing before them; no, if left out.
   * Without shapes the frame is decoded only, for the sake of those behind it. Never rejects: what a dead worker had is
   * answered with the drop `engine`, and a frame that took its worker too long with `overdue`.
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

/** The decoder, the resamplers and the encoders of one direction of a session's sound; they live on one worker. */
export interface SoundTranscoder {
  /**
   * One packet at a time: the next is asked when this one is answered. `assumed`: rate and channels of formats that do not
   * tell theirs, which are A-law and PCM; of AMR the rate is a hint. Never rejects: what a dead worker had is answered with
   * the drop `engine`, and a packet that took its worker too long with `overdue`.
   */
  take(packet: SoundPacket, assumed: SampleShape, targets: readonly SoundShape[]): Promise<SoundResult>;
  /** As of `Transcoder`. */
  close(): void;
}

export interface Transcoders {
  /** The version of the decoders' library; null: this machine has none. */
  readonly engine: string | null;
  /** Of which packets can be made here. */
  readonly soundEncoders: readonly SoundEncoding[];
  /** By measured load: who does not fit is refused, not starved. `engine`: this machine has no decoder. */
  open(need: TranscodingNeed): Result<Transcoder, ReservationRefusal>;
  /** As `open`; one direction of sound costs little. */
  openSound(): Result<SoundTranscoder, ReservationRefusal>;
  /** Whether `open` would take it, nothing reserved; null: it would. */
  refusalOf(need: TranscodingNeed): ReservationRefusal | null;
  /** The workers at the moment, in the order of their numbers. */
  workers(): readonly WorkerLoad[];
  /** Ends the workers behind what they still do. */
  close(): Promise<void>;
}
