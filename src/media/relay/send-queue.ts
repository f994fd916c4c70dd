/**
 * The outputs of legs and viewers, which they implement, and the send queue of each: one message at a time, audio before video; the rest
 * waits in bounded queues. The sender never blocks. Source: calls-and-media.md, Legs.
 */
import type { Size } from '../../model/call.ts';
import type { DropCause, MediaFrameResult } from '../../model/media/picture.ts';
import type { SoundShape, UplinkWish } from '../../model/media/sound.ts';
import { audioWaitingMsMax } from '../../model/limits.ts';
import { AudioQueue, type WaitingAudio, VideoQueue, type WaitingVideo } from './media-queues.ts';
import type { FrameHeader } from '../../protocol/media/frame-header.ts';

/**
 * One message is in flight at a time: the next is sent only after `sent` was called, which never happens inside `send`. Nothing throws,
 * and buffers are not modified: other receivers may share them.
 */
export interface LegOutput {
  send(header: Uint8Array, payload: Uint8Array, sent: () => void): void;
  askKeyFrame(): void;
  /** Sends the text `max_fps_wanted`; absent: there is no sender to ask. */
  askMaxFps?(maxFps: number): void;
  /** Sends the text `frames_dropped`; absent: not wanted. */
  framesDropped?(cause: DropCause): void;
  /** Reports the end of the call as `error`; absent: not a leg of the call. */
  endCall?(): void;
  /** Sends the text `error`: media requested by `uplink` cannot be made; absent: not reported. */
  mediaUnavailable?: MediaUnavailable;
}

/** `load`: no worker has time now; `unsupported`: this machine cannot make it. */
export type MediaUnavailable = (what: 'audio' | 'video', why: 'load' | 'unsupported') => void;

/** Only JPEGs; `sent` as in `LegOutput`. */
export interface PictureOutput {
  sendPicture(jpeg: Uint8Array, sent: () => void): void;
}

/** `pictures`: a device without WebSocket, which receives only JPEGs. */
export type DeviceOutput =
  ({ readonly takes: 'frames' } & LegOutput & SoundOutput) | ({ readonly takes: 'pictures' } & PictureOutput);

interface SoundOutput {
  /**
   * The sound that it accepts, read for each packet; null: none. Default: the sound of the call. Its own packets have the same shape
   * unless they describe themselves.
   */
  readonly sound?: SoundShape | null;
}

/** A viewer's stream of frames, with sound if `sound` is set. */
export type LiveStream = LegOutput & SoundOutput;

export type ViewerOutput = LiveStream | PictureOutput;

/** Pictures of the device's camera. None are made while `isTaken` is false. */
export interface CameraOutput extends PictureOutput {
  isTaken(): boolean;
}

/** A viewer that also accepts H.264: the video as sent, and the device's, if that differs. */
export interface LiveOutput {
  readonly source: LiveStream;
  readonly output: LiveStream;
  readonly camera: CameraOutput;
}

/** A leg or viewer in the relay. */
export interface JoinedLeg {
  /**
   * A frame that it sends; viewers send none. The relay owns `payload`, in memory of its own: it may be transferred to another thread.
   * `headerBytes`: the 12 bytes of `header`, reused for frames passed on.
   */
  frame(header: FrameHeader, payload: Uint8Array<ArrayBuffer>, headerBytes: Uint8Array): void;
  /** The media that a bridge accepts from the device from now on; ignored for others. */
  wants(uplink: UplinkWish): void;
  /** It cannot continue without a key frame of the video that it receives. */
  wantKeyFrame(): void;
  /** Frames per second of pass-through video that its network carries; ignored for others than devices. */
  wantMaxFps(maxFps: number): void;
  /** Stops sending to it. Does not affect a leg that has replaced it; idempotent. */
  leave(): void;
}

interface Outgoing {
  readonly header: Uint8Array;
  readonly payload: Uint8Array;
  /** Its result is the result of its frame. */
  readonly isCounted: boolean;
}

interface OutgoingAudio extends WaitingAudio, Outgoing {
  readonly kind: 'audio';
  readonly done: 'audio' | 'transcoded';
}

export interface OutgoingVideo extends WaitingVideo, Outgoing {
  readonly kind: 'video';
  /** Position of its frame within the session, ascending. */
  readonly place: number;
  readonly size: Size | null;
  readonly done: 'passed' | 'encoded';
}

export type OutgoingMessage = OutgoingAudio | OutgoingVideo;

export interface SendQueueOwner {
  /** Sends it to the leg, which calls `sent` when it accepts the next. */
  transmit(message: OutgoingMessage, sent: () => void): void;
  completed(message: OutgoingMessage, result: MediaFrameResult): void;
}

export class SendQueue {
  readonly #owner: SendQueueOwner;
  readonly #audio: AudioQueue<OutgoingAudio>;
  readonly #video: VideoQueue<OutgoingVideo>;
  #stage: 'free' | 'sending' | 'closed' = 'free';
  #lastPlace = -1;
  #passedAtMs: number | null = null;

  constructor(owner: SendQueueOwner) {
    this.#owner = owner;
    this.#audio = new AudioQueue((audio) => owner.completed(audio, 'slow_leg'));
    this.#video = new VideoQueue((video, why) => owner.completed(video, why));
  }

  /** Another picture would evict one, or only wait. */
  get hasPicturesEnough(): boolean {
    return this.#video.hasPicturesEnough;
  }

  /** Coded video cannot be used before a key frame. */
  get lacksKey(): boolean {
    return this.#video.lacksKey;
  }

  /** Coded video that follows does not depend on what was sent. */
  requireKey(): void {
    this.#video.requireKey();
  }

  /** Sound at or after this time has passed untouched, within the queue's length. */
  hasPassed(timestampMs: number): boolean {
    const behindMs = this.#passedAtMs === null ? -1 : (this.#passedAtMs - timestampMs) | 0;
    return behindMs >= 0 && behindMs <= audioWaitingMsMax;
  }

  offerAudio(audio: Omit<OutgoingAudio, 'kind'>): void {
    if (audio.done === 'audio') this.#passedAtMs = audio.timestampMs;
    this.#audio.push({ ...audio, kind: 'audio' });
    this.#sendNext();
  }

  /** A picture that is older than one already queued or sent is dropped: video never goes back. */
  offerVideo(video: OutgoingVideo): void {
    if (video.place < this.#lastPlace) return this.#owner.completed(video, 'slow_leg');
    this.#lastPlace = video.place;
    this.#video.push(video);
    this.#sendNext();
  }

  close(): void {
    this.#stage = 'closed';
    for (let next = this.#shift(); next !== undefined; next = this.#shift())
      this.#owner.completed(next, 'no_receiver');
  }

  readonly #sent = (): void => {
    if (this.#stage !== 'sending') return;
    this.#stage = 'free';
    this.#sendNext();
  };

  #sendNext(): void {
    if (this.#stage !== 'free') return;
    const message = this.#shift();
    if (message === undefined) return;
    this.#stage = 'sending';
    this.#owner.completed(message, message.done);
    this.#owner.transmit(message, this.#sent);
  }

  #shift(): OutgoingMessage | undefined {
    return this.#audio.shift() ?? this.#video.shift();
  }
}

type Completed = SendQueueOwner['completed'];

export function sendQueueOf(out: LegOutput | PictureOutput, completed: Completed): SendQueue {
  return new SendQueue(
    'sendPicture' in out
      ? { transmit: ({ payload }, sent) => out.sendPicture(payload, sent), completed }
      : { transmit: ({ header, payload }, sent) => out.send(header, payload, sent), completed },
  );
}
