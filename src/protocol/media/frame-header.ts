/**
 * The 12-byte header of every binary message of a leg. The payload is not read; where the two disagree about the size, the
 * payload decides. Source: calls-and-media.md, Legs.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { mediaFrameHeaderBytes } from '../../model/limits.ts';
import { videoFrameFormats, type VideoFrameFormat } from '../../model/media/picture.ts';
import { audioFrameFormats, type AudioFrameFormat } from '../../model/media/sound.ts';

export interface VideoFrameHeader {
  readonly kind: 'video';
  readonly format: VideoFrameFormat;
  readonly isKeyFrame: boolean;
  /** Pixels, 0-65535; 0: unstated, which I420 does not allow. */
  readonly width: number;
  readonly height: number;
  /** Milliseconds, 32 bits: wraps after 49 days. */
  readonly timestampMs: number;
}

export interface AudioFrameHeader {
  readonly kind: 'audio';
  readonly format: AudioFrameFormat;
  /** As for video. */
  readonly timestampMs: number;
}

export type FrameHeader = VideoFrameHeader | AudioFrameHeader;

const kindNumbers = { video: 1, audio: 2 } as const;
const keyFrameFlag = 1;

/** `message`: a whole binary message, not retained. A failure states the fault and the expected form. */
export function decodeFrameHeader(message: Uint8Array): Result<FrameHeader, string> {
  if (message.length <= mediaFrameHeaderBytes)
    return fail(`a frame is a header of ${mediaFrameHeaderBytes} bytes, followed by a payload`);
  const view = new DataView(message.buffer, message.byteOffset, mediaFrameHeaderBytes);
  const flags = view.getUint16(2);
  if (flags > keyFrameFlag) return fail('in the flags, bytes 2-3, only bit 0 is used: a key frame');
  const kind = view.getUint8(0);
  if (kind === kindNumbers.video) return decodeVideo(view, flags === keyFrameFlag);
  if (kind === kindNumbers.audio) return decodeAudio(view);
  return fail('the kind, byte 0, is 1 for video or 2 for audio');
}

function decodeVideo(view: DataView, isKeyFrame: boolean): Result<VideoFrameHeader, string> {
  const format = videoFrameFormats[view.getUint8(1) - 1];
  if (format === undefined)
    return fail('the format of video, byte 1, is 1 for H.264, 2 for H.265, 3 for MJPEG or 4 for I420');
  const width = view.getUint16(4);
  const height = view.getUint16(6);
  if (format === 'i420' && (width === 0 || height === 0))
    return fail('I420 needs its width and height in bytes 4-7: its payload does not contain them');
  return succeed({ kind: 'video', format, isKeyFrame, width, height, timestampMs: view.getUint32(8) });
}

/** The key frame flag is allowed: every audio packet is one. */
function decodeAudio(view: DataView): Result<AudioFrameHeader, string> {
  const format = audioFrameFormats[view.getUint8(1) - 1];
  if (format === undefined)
    return fail('the format of audio, byte 1, is 1 for A-law, 2 for AMR, 3 for Opus or 4 for PCM s16le');
  if (view.getUint32(4) !== 0) return fail('the width and height of audio, bytes 4-7, are 0');
  return succeed({ kind: 'audio', format, timestampMs: view.getUint32(8) });
}

/** 12 bytes, to be followed by the payload. The caller ensures that sizes and timestamp are in range. */
export function encodeFrameHeader(header: FrameHeader): Buffer {
  const bytes = Buffer.alloc(mediaFrameHeaderBytes);
  bytes.writeUInt8(kindNumbers[header.kind], 0);
  if (header.kind === 'video') {
    bytes.writeUInt8(videoFrameFormats.indexOf(header.format) + 1, 1);
    bytes.writeUInt16BE(header.isKeyFrame ? keyFrameFlag : 0, 2);
    bytes.writeUInt16BE(header.width, 4);
    bytes.writeUInt16BE(header.height, 6);
  } else bytes.writeUInt8(audioFrameFormats.indexOf(header.format) + 1, 1);
  bytes.writeUInt32BE(header.timestampMs, 8);
  return bytes;
}

/**
 * The payload in memory of its own, so that it may be transferred to another thread. A message assembled from several pieces
 * already has such memory; a smaller one is copied, because it shares a read buffer with other messages.
 */
export function framePayload(message: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = message;
  return buffer instanceof ArrayBuffer && buffer.byteLength === message.length
    ? new Uint8Array(buffer, mediaFrameHeaderBytes)
    : new Uint8Array(message.subarray(mediaFrameHeaderBytes));
}
