/** The messages of a bridge's leg, as docs/media-protocol.md has them: texts and frames. */

/** What to ask the phone for; null for a call without video. Pixels, and frames a second at most. */
export interface VideoRequest {
  readonly width: number;
  readonly height: number;
  /** 0: the app's own behaviour. 1: an upright stream, with `encodeVideoRotation=1` at the mini program. 2: as it is turned. */
  readonly rotation: 0 | 1 | 2;
  readonly max_fps: number;
}

/** What `start` tells of a call. */
export interface CallStart {
  readonly request: VideoRequest | null;
  readonly audio: {
    readonly format: 'alaw' | 'amr' | 'opus';
    readonly rate: number;
    readonly channels: number;
  };
  /** Of the caller, passed through. */
  readonly payload: string;
  /** How to get into the messaging app's room. `session_key` and `session_token` are secrets. */
  readonly room: {
    readonly app_id: string;
    readonly model_id: string;
    readonly room_id: string;
    readonly session_key: string;
    readonly session_token: string;
  };
}

export type ServerText =
  | { readonly type: 'assign'; readonly session: string }
  | ({ readonly type: 'start' } & CallStart)
  | {
      readonly type: 'state';
      readonly session: string;
      readonly state: string;
      readonly reason: string | null;
    }
  | { readonly type: 'key_frame_wanted' }
  | { readonly type: 'error'; readonly message: string };

export type PhoneState = 'ringing' | 'attempting' | 'connected';

const videoFormats = ['h264', 'h265', 'mjpeg', 'i420'] as const;
const audioFormats = ['alaw', 'amr', 'opus', 'pcm'] as const;

export interface VideoFrame {
  readonly kind: 'video';
  readonly format: (typeof videoFormats)[number];
  readonly isKeyFrame: boolean;
  readonly width: number;
  readonly height: number;
  /** Milliseconds. */
  readonly timestampMs: number;
  readonly payload: Uint8Array;
}

export interface AudioPacket {
  readonly kind: 'audio';
  readonly format: (typeof audioFormats)[number];
  readonly timestampMs: number;
  readonly payload: Uint8Array;
}

export type Frame = VideoFrame | AudioPacket;

const headerBytes = 12;

export function encodeFrame(frame: Frame): Buffer {
  const bytes = Buffer.alloc(headerBytes + frame.payload.length);
  if (frame.kind === 'video') {
    bytes.writeUInt8(1, 0);
    bytes.writeUInt8(videoFormats.indexOf(frame.format) + 1, 1);
    bytes.writeUInt16BE(frame.isKeyFrame ? 1 : 0, 2);
    bytes.writeUInt16BE(frame.width, 4);
    bytes.writeUInt16BE(frame.height, 6);
  } else {
    bytes.writeUInt8(2, 0);
    bytes.writeUInt8(audioFormats.indexOf(frame.format) + 1, 1);
  }
  bytes.writeUInt32BE(Math.round(frame.timestampMs) % 2 ** 32, 8);
  bytes.set(frame.payload, headerBytes);
  return bytes;
}

/** Null: no frame of a kind and format that is known here. */
export function decodeFrame(message: Buffer): Frame | null {
  if (message.length <= headerBytes) return null;
  const payload = message.subarray(headerBytes);
  const timestampMs = message.readUInt32BE(8);
  const number = message.readUInt8(1) - 1;
  const [video, audio] = [videoFormats[number], audioFormats[number]];
  if (message.readUInt8(0) === 2 && audio !== undefined)
    return { kind: 'audio', format: audio, timestampMs, payload };
  if (message.readUInt8(0) !== 1 || video === undefined) return null;
  const isKeyFrame = (message.readUInt16BE(2) & 1) === 1;
  const [width, height] = [message.readUInt16BE(4), message.readUInt16BE(6)];
  return { kind: 'video', format: video, isKeyFrame, width, height, timestampMs, payload };
}
