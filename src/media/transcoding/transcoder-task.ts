/**
 * Everything that crosses between the main thread and a transcoding worker. The worker's module exports `serve`, which receives the port
 * for tasks (task-port.ts); tasks are performed in the order in which they were posted. Payloads of frames and pictures are transferred;
 * packets of sound are copied, which costs less for so few bytes. A worker starts with the settings of its transcoders.
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
  /** Unique in this process. A worker creates a transcoder for an unknown number. */
  readonly session: number;
  readonly frame: SourceFrame;
  readonly shapes: readonly PictureShape[];
  /** Description of the frame, so that it is parsed only once. */
  readonly description: FrameDescription;
  /** The pictures must be key frames. */
  readonly isKeyWanted: boolean;
}

export interface SoundTask {
  /** Like `FrameTask.session`; no session has both. */
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
  startEngine(): Promise<Result<EngineDescription, string>>;
  transcodeFrame(task: FrameTask): Promise<FrameResult>;
  transcodeSound(task: SoundTask): Promise<SoundResult>;
  /** Frees the session's objects; an unknown session is ignored. */
  closeSession(session: number): Promise<void>;
  closeAll(): Promise<void>;
  countNatives(): Promise<NativeCensus>;
}

export const lostFrame: FrameResult = {
  source: null,
  pictures: [],
  drop: 'engine',
  keyFrameWanted: true,
  rebuilds: 0,
  workMs: 0,
};

export const lostSound: SoundResult = { packets: [], drop: 'engine', rebuilds: 0, workMs: 0 };

/** Results of a task that exceeded its time; its worker was abandoned. */
export const overdueFrame: FrameResult = { ...lostFrame, drop: 'overdue', workMs: taskTimeMsMax };
export const overdueSound: SoundResult = { ...lostSound, drop: 'overdue', workMs: taskTimeMsMax };
