/**
 * All that crosses between the main loop and a transcoding worker. The worker's file exports `serve`, which is given the
 * port by which tasks come (task-port.ts); they are done one after the other, in the order in which they were posted.
 * Payloads of frames and pictures are moved; packets of sound are copied, which costs less for so few bytes.
 * A worker is started with the settings of its transcoders.
 */
import { taskTimeMsMax } from '../../model/media/decoding-limits.ts';
import type { NativeCensus } from '../codec/native-census.ts';
import type { Result } from '../../lib/result.ts';
import type {
  SoundEncoding,
  SampleShape,
  SoundPacket,
  SoundResult,
  SoundShape,
} from '../../model/media/sound.ts';
import type { FrameDescription, FrameResult, PictureShape, SourceFrame } from '../../model/media/picture.ts';

export interface FrameTask {
  /** A number of its own in this process. A worker that does not know it makes it a transcoder. */
  readonly session: number;
  readonly frame: SourceFrame;
  readonly shapes: readonly PictureShape[];
  /** The frame's, so that it is read once. */
  readonly description: FrameDescription;
  /** Its pictures are to build on nothing before them. */
  readonly isKeyWanted: boolean;
}

export interface SoundTask {
  /** As of frames; no session has both. */
  readonly session: number;
  readonly packet: SoundPacket;
  readonly assumed: SampleShape;
  readonly targets: readonly SoundShape[];
}

export interface EngineDescription {
  readonly version: string;
  readonly soundEncoders: readonly SoundEncoding[];
}

export interface TranscoderTasks {
  /** The engine, or why there is none. */
  startEngine(): Promise<Result<EngineDescription, string>>;
  takeFrame(task: FrameTask): Promise<FrameResult>;
  takeSound(task: SoundTask): Promise<SoundResult>;
  /** Frees what the session has; one that has nothing is no mistake. */
  closeSession(session: number): Promise<void>;
  /** Frees what all of them have. */
  closeAll(): Promise<void>;
  countNatives(): Promise<NativeCensus>;
}

/** The result of a frame whose worker is gone. */
export const lostFrame: FrameResult = {
  source: null,
  pictures: [],
  drop: 'engine',
  keyFrameWanted: true,
  rebuilds: 0,
  workMs: 0,
};

/** The result of a packet of sound whose worker is gone. */
export const lostSound: SoundResult = { packets: [], drop: 'engine', rebuilds: 0, workMs: 0 };

/** The results where the task took longer than it may: its worker was abandoned. */
export const overdueFrame: FrameResult = { ...lostFrame, drop: 'overdue', workMs: taskTimeMsMax };
export const overdueSound: SoundResult = { ...lostSound, drop: 'overdue', workMs: taskTimeMsMax };
