/**
 * The outputs of legs and viewers, which they implement, and the send queue before each: a message at a time, audio before
 * video, and the rest waits in queues that drop. The sender never waits for it. Source: calls-and-media.md, Legs.
 */
import type { Size } from '../../model/call.ts';
import type { DropCause, MediaFrameResult } from '../../model/media/picture.ts';
import type { SoundShape, UplinkWish } from '../../model/media/sound.ts';
import { audioWaitingMsMax } from '../../model/limits.ts';
import { AudioQueue, type WaitingAudio, VideoQueue, type WaitingVideo } from './media-queues.ts';
import type { FrameHeader } from '../../protocol/media/frame-header.ts';

/**
 * One message is on its way at a time: the next is sent only after `sent` was called, which is never inside `send`. Nothing
 * here throws, and what it is given is not written to: others may be given the same bytes.
 */
export interface LegOutput {
  send(header: Uint8Array, payload: Uint8Array, sent: () => void): void;
  /** The text `key_frame_wanted`. */
  askKeyFrame(): void;
  /** The text `max_fps_wanted`; left out where there is nobody to ask. */
  askMaxFps?(maxFps: number): void;
  /** The text `frames_dropped`; left out where it is not wanted. */
  framesDropped?(cause: DropCause): void;
  /** Reports that the call ends as `error`; left out of what is no leg of the call. */
  endCall?(): void;
  /** The text `error`: what a bridge asked for by `uplink` is not made; left out where nobody is told. */
  goesWithout?: GoesWithout;
}

/** `load`: no worker has time now; `unsupported`: this machine cannot make it. */
export type GoesWithout = (what: 'audio' | 'video', why: 'load' | 'unsupported') => void;

/** As above. */
export interface PictureOutput {
  sendPicture(jpeg: Uint8Array, sent: () => void): void;
}

/** `pictures`: a device without WebSocket, to which only finished JPEGs go. */
export type DeviceOutput =
  ({ readonly takes: 'frames' } & LegOutput & SoundOutput) | ({ readonly takes: 'pictures' } & PictureOutput);

interface SoundOutput {
  /**
   * The sound that it takes, asked anew for each packet; null: none. Left out: that of the call. Sound of a format that
   * does not tell its rate and channels comes from it in the same.
   */
  readonly sound?: SoundShape | null;
}

/** A stream of a viewer that takes frames: pictures as such, and sound if it takes some; left out, it takes none. */
export type LiveStream = LegOutput & SoundOutput;

export type ViewerOutput = LiveStream | PictureOutput;

/** Pictures of the device's camera. None are made while the viewer does not take them. */
export interface CameraOutput extends PictureOutput {
  isTaken(): boolean;
}

/** A viewer that takes H.264 as well: what is sent, and what the device has, where that is not the same. */
export interface LiveOutput {
  readonly source: LiveStream;
  readonly output: LiveStream;
  readonly camera: CameraOutput;
}

/** A leg, or a viewer, that is in the relay. */
export interface JoinedLeg {
  /**
   * What it sends, of a viewer never anything. `payload` is the relay's to keep, in memory that nothing else needs: it
   * may be moved to another thread. `headerBytes` are the 12 bytes that `header` was read from: what is passed on goes
   * out with the very same ones.
   */
  frame(header: FrameHeader, payload: Uint8Array<ArrayBuffer>, headerBytes: Uint8Array): void;
  /** What a bridge takes of the device from now on; of others nothing follows. */
  wants(uplink: UplinkWish): void;
  /** It cannot go on without a key frame of what it is sent. */
  wantKeyFrame(): void;
  /** The frames a second that its network carries of what is passed on to it; of others than a device nothing follows. */
  wantMaxFps(maxFps: number): void;
  /** Nothing is sent to it any more. It disturbs nobody who has taken its place since; twice is once. */
  leave(): void;
}

interface Outgoing {
  /** 12 bytes. */
  readonly header: Uint8Array;
  readonly payload: Uint8Array;
  /** What becomes of it here is what becomes of its frame. */
  readonly isCounted: boolean;
}

interface OutgoingAudio extends WaitingAudio, Outgoing {
  readonly kind: 'audio';
  readonly done: 'audio' | 'transcoded';
}

export interface OutgoingVideo extends WaitingVideo, Outgoing {
  readonly kind: 'video';
  /** Of its frame among those of the session, ascending. */
  readonly place: number;
  /** Null: not known. */
  readonly size: Size | null;
  readonly done: 'passed' | 'encoded';
}

export type OutgoingMessage = OutgoingAudio | OutgoingVideo;

export interface SendQueueOwner {
  /** Hands it to the leg, which calls `sent` when it takes the next. */
  transmit(message: OutgoingMessage, sent: () => void): void;
  /** Of every message, once. */
  settled(message: OutgoingMessage, result: MediaFrameResult): void;
}

export class SendQueue {
  readonly #owner: SendQueueOwner;
  readonly #audio: AudioQueue<OutgoingAudio>;
  readonly #video: VideoQueue<OutgoingVideo>;
  #stage: 'free' | 'sending' | 'closed' = 'free';
  #lastPlace = -1;
  /** Null: no sound has passed untouched yet. */
  #passedAtMs: number | null = null;

  constructor(owner: SendQueueOwner) {
    this.#owner = owner;
    this.#audio = new AudioQueue((audio) => owner.settled(audio, 'slow_leg'));
    this.#video = new VideoQueue((video, why) => owner.settled(video, why));
  }

  /** A picture made now would push another one out, or only wait. */
  get hasPicturesEnough(): boolean {
    return this.#video.hasPicturesEnough;
  }

  /** Coded video is of no use to it before a key frame. */
  get lacksKey(): boolean {
    return this.#video.lacksKey;
  }

  /** The coded video that comes builds on nothing that was sent. */
  requireKey(): void {
    this.#video.requireKey();
  }

  /** Of sound that passed untouched, this moment or one behind it, within what may wait. */
  hasPassed(timestampMs: number): boolean {
    const behindMs = this.#passedAtMs === null ? -1 : (this.#passedAtMs - timestampMs) | 0;
    return behindMs >= 0 && behindMs <= audioWaitingMsMax;
  }

  offerAudio(audio: Omit<OutgoingAudio, 'kind'>): void {
    if (audio.done === 'audio') this.#passedAtMs = audio.timestampMs;
    this.#audio.push({ ...audio, kind: 'audio' });
    this.#sendNext();
  }

  /** A picture that took its time comes too late behind a newer frame: nothing goes back. */
  offerVideo(video: OutgoingVideo): void {
    if (video.place < this.#lastPlace) return this.#owner.settled(video, 'slow_leg');
    this.#lastPlace = video.place;
    this.#video.push(video);
    this.#sendNext();
  }

  /** Nothing is transmitted any more. */
  close(): void {
    this.#stage = 'closed';
    for (let next = this.#shift(); next !== undefined; next = this.#shift())
      this.#owner.settled(next, 'no_receiver');
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
    this.#owner.settled(message, message.done);
    this.#owner.transmit(message, this.#sent);
  }

  #shift(): OutgoingMessage | undefined {
    return this.#audio.shift() ?? this.#video.shift();
  }
}

type Settled = SendQueueOwner['settled'];

/** The queue of a leg that takes frames, or of a receiver of JPEGs alone. */
export function sendQueueOf(out: LegOutput | PictureOutput, settled: Settled): SendQueue {
  return new SendQueue(
    'sendPicture' in out
      ? { transmit: ({ payload }, sent) => out.sendPicture(payload, sent), settled }
      : { transmit: ({ header, payload }, sent) => out.send(header, payload, sent), settled },
  );
}
