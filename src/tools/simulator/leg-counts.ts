/** The counts of what comes over a played leg. */
import type { AudioFrameFormat } from '../../model/media/sound.ts';
import type { FrameHeader, VideoFrameHeader } from '../../protocol/media/frame-header.ts';

export interface LegCounts {
  /** Messages; key frames that are asked for are among them. */
  texts: number;
  keyFramesWanted: number;
  videoFrames: number;
  /** The newest frame of video; null: none yet. */
  video: VideoFrameHeader | null;
  audioPackets: number;
  /** Packets by format. */
  readonly audio: Map<AudioFrameFormat, number>;
  /** Bytes of frames and packets, headers included. */
  bytes: number;
  /** Binary messages that are no frame. */
  malformed: number;
}

export function noLegCounts(): LegCounts {
  return {
    texts: 0,
    keyFramesWanted: 0,
    videoFrames: 0,
    video: null,
    audioPackets: 0,
    audio: new Map(),
    bytes: 0,
    malformed: 0,
  };
}

/** `bytes`: of the message. */
export function countFrame(counts: LegCounts, header: FrameHeader, bytes: number): void {
  if (header.kind === 'video') {
    counts.videoFrames += 1;
    counts.video = header;
  } else {
    counts.audioPackets += 1;
    counts.audio.set(header.format, (counts.audio.get(header.format) ?? 0) + 1);
  }
  counts.bytes += bytes;
}
