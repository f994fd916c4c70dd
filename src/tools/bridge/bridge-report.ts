/**
 * The output of `simulate-bridge`: each step of its calls as a line, the playback in one line that stays, and a summary
 * at the end. With `--json` each is a JSON object with its `event`.
 */
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import type { PlaybackTally } from './bridge-playback.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { type LegCounts, soundInWords } from '../simulator/leg-counts.ts';
import type { VideoFrameHeader } from '../../protocol/media/frame-header.ts';
import type { Size } from '../../model/call.ts';
import type { ProgressLine } from '../../cli/shell/output.ts';
import { counted } from '../../cli/shell/option-values.ts';

/** How a bridge says what happens to it. */
export interface BridgeLogger {
  notify(event: string, json: object, text: string): void;
  trouble(reason: string): void;
}

/** Lines for people; what goes beyond is in the counts. */
const lines: Rate = { perSecond: 5, burst: 40 };

export class BridgeReport implements BridgeLogger {
  readonly #context: Pick<CommandContext, 'clock' | 'output'>;
  readonly #line: ProgressLine;
  readonly #played: Readonly<PlaybackTally>;
  readonly #heard: Readonly<LegCounts>;
  readonly #bucket: TokenBucket;
  readonly #startedMs: number;
  #before = { frames: 0, bytes: 0, atMs: 0 };

  /** `heard`: what has come to the bridge so far, over all its connections. */
  constructor(
    context: Pick<CommandContext, 'clock' | 'output' | 'newProgressLine'>,
    played: Readonly<PlaybackTally>,
    heard: Readonly<LegCounts>,
  ) {
    this.#context = context;
    this.#line = context.newProgressLine();
    this.#played = played;
    this.#heard = heard;
    this.#startedMs = context.clock.monotonicMs();
    this.#before.atMs = this.#startedMs;
    this.#bucket = fullBucket(lines, this.#startedMs);
  }

  notify(event: string, json: object, text: string): void {
    const { clock, output } = this.#context;
    if (!output.wantsJson && !this.#mayShow()) return;
    const at = new Date(clock.wallMs()).toISOString();
    this.#line.above(() => output.answer({ event, at, ...json }, `${at}  ${text}`));
  }

  trouble(reason: string): void {
    this.notify('trouble', { reason }, reason);
  }

  /** Once a second. */
  progress(): void {
    const { clock, output } = this.#context;
    const { frames, bytes, size } = this.#played;
    const nowMs = clock.monotonicMs();
    const perSecond = (count: number): number => (count * 1000) / Math.max(1, nowMs - this.#before.atMs);
    const rates = {
      frames_per_second: rounded(perSecond(frames - this.#before.frames)),
      bytes_per_second: Math.round(perSecond(bytes - this.#before.bytes)),
    };
    this.#before = { frames, bytes, atMs: nowMs };
    if (output.wantsJson) return output.answer({ event: 'figures', ...rates, ...this.#figures() }, '');
    const { keyFramesWanted, texts } = this.#heard;
    const shown =
      size === null ? 'no video yet' : `${sizeInWords(size)}  ${rates.frames_per_second} frames/s`;
    const kilobytes = `${(rates.bytes_per_second / 1000).toFixed(1)} kB/s`;
    this.#line.show(
      `${shown}  ${kilobytes}  ${counted(keyFramesWanted, 'key frame')} asked  ${counted(texts, 'message')}`,
    );
  }

  summary(calls: number): void {
    this.#line.clear();
    const { clock, output } = this.#context;
    const seconds = rounded((clock.monotonicMs() - this.#startedMs) / 1000);
    const { frames, keyFrames, audioPackets, bytes, skipped } = this.#played;
    const { keyFramesWanted, videoFrames, video } = this.#heard;
    const sent = `${counted(frames, 'frame')} (${counted(keyFrames, 'key frame')}, ${keyFramesWanted} asked for, ${skipped} skipped)`;
    const heard = `from the device ${counted(videoFrames, 'frame')}${lastInWords(video)}, ${soundInWords(this.#heard)}`;
    output.answer(
      { event: 'summary', calls, seconds, ...this.#figures() },
      `${counted(calls, 'call')} in ${seconds} s: ${sent}, ${counted(audioPackets, 'audio packet')}, ${counted(bytes, 'byte')}; ${heard}`,
    );
  }

  #figures(): object {
    const { frames, keyFrames, audioPackets, bytes, skipped, size } = this.#played;
    const heard = this.#heard;
    return {
      size: size === null ? null : sizeInWords(size).replace('×', 'x'),
      frames,
      key_frames: keyFrames,
      skipped,
      audio_packets: audioPackets,
      bytes,
      messages: heard.texts,
      key_frames_wanted: heard.keyFramesWanted,
      from_device: {
        frames: heard.videoFrames,
        ...videoJson(heard.video),
        audio_packets: heard.audioPackets,
        audio: Object.fromEntries(heard.audio),
        bytes: heard.bytes,
      },
    };
  }

  #mayShow(): boolean {
    if (waitForToken(this.#bucket, lines, this.#context.clock.monotonicMs()) > 0) return false;
    takeToken(this.#bucket);
    return true;
  }
}

function rounded(value: number): number {
  return Number(value.toFixed(1));
}

/** Of the newest frame; null: none. */
export function videoJson(video: VideoFrameHeader | null): object {
  if (video === null) return { format: null, size: null };
  return { format: video.format, size: `${video.width}x${video.height}` };
}

function lastInWords(video: VideoFrameHeader | null): string {
  return video === null ? '' : ` (${video.format} ${sizeInWords(video)})`;
}

export function sizeInWords({ width, height }: Size): string {
  return `${width}×${height}`;
}
