/** The counts of what comes over a played leg. */
import type { AudioFrameFormat } from '../../model/media/sound.ts';
import type { FrameHeader, VideoFrameHeader } from '../../protocol/media/frame-header.ts';

export class LegCounts {
  /** Messages; key frames that are asked for are among them. */
  texts = 0;
  keyFramesWanted = 0;
  videoFrames = 0;
  /** The newest frame of video; null: none yet. */
  video: VideoFrameHeader | null = null;
  audioPackets = 0;
  /** Packets by format. */
  readonly audio = new Map<AudioFrameFormat, number>();
  /** Bytes of frames and packets, headers included. */
  bytes = 0;

  /** `bytes`: of the message. */
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
