/** The owner of a WebRTC peer; it records each notification as one line. */
import { Happenings } from './happenings.ts';
import type { RtcPeerOwner } from '../../src/media/webrtc/rtc-peer.ts';

export class KeptOwner extends Happenings implements RtcPeerOwner {
  readonly lines: string[] = [];
  /** Timestamps of the last frame and packet. */
  readonly timesMs = { video: 0, audio: 0 };

  connected(): void {
    this.#record('connected');
  }

  video(accessUnit: Uint8Array, isKey: boolean, timestampMs: number): void {
    this.timesMs.video = timestampMs;
    this.#record(`video ${Buffer.from(accessUnit).toString('hex')}${isKey ? ' key' : ''}`);
  }

  audio(format: string, packet: Uint8Array, timestampMs: number): void {
    this.timesMs.audio = timestampMs;
    this.#record(`audio ${format} ${Buffer.from(packet).toString('hex')}`);
  }

  command(command: number): void {
    this.#record(`command 0x${command.toString(16)}`);
  }

  keyFrameWanted(): void {
    this.#record('key frame wanted');
  }

  bitrate(bitsPerSecond: number): void {
    this.#record(`bitrate ${bitsPerSecond}`);
  }

  closed(why: string): void {
    this.#record(`gone: ${why}`);
  }

  /** Resolves when the line has been recorded. Rejects when the peer closes before. */
  async untilRecorded(line: string): Promise<void> {
    await this.until(() => this.lines.includes(line) || this.#last.startsWith('gone: '));
    if (!this.lines.includes(line)) throw new Error(`not notified of "${line}", but "${this.#last}"`);
  }

  get #last(): string {
    return this.lines.at(-1) ?? '';
  }

  #record(line: string): void {
    this.lines.push(line);
    this.happened();
  }
}
