/** Receive counters of a played leg. */
import type { AudioFrameFormat } from '../../model/media/sound.ts';
import type { FrameHeader, VideoFrameHeader } from '../../protocol/media/frame-header.ts';

export class LegCounts {
  /** Text messages, including requests for key frames. */
  texts = 0;
  keyFramesWanted = 0;
  videoFrames = 0;
  /** Header of the latest video frame; null: none yet. */
  video: VideoFrameHeader | null = null;
  audioPackets = 0;
  readonly audio = new Map<AudioFrameFormat, number>();
  /** Bytes of frames and packets, headers included. */
  bytes = 0;

  frame(header: FrameHeader, bytes: number): void {
    if (header.kind === 'video') {
      this.videoFrames += 1;
      this.video = header;
    } else {
      this.audioPackets += 1;
      this.audio.set(header.format, (this.audio.get(header.format) ?? 0) + 1);
    }
    this.bytes += bytes;
  }
}
