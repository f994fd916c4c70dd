/** The owner of a WebRTC peer that keeps what it was told, each as one line. */
import { Happenings } from './happenings.ts';
import type { RtcPeerOwner } from '../../src/media/webrtc/rtc-peer.ts';

export class KeptOwner extends Happenings implements RtcPeerOwner {
  readonly told: string[] = [];
  /** Of the last that came. */
  readonly timesMs = { video: 0, audio: 0 };

  connected(): void {
    this.#tell('connected');
  }

  video(accessUnit: Uint8Array, isKey: boolean, timestampMs: number): void {
    this.timesMs.video = timestampMs;
    this.#tell(`video ${Buffer.from(accessUnit).toString('hex')}${isKey ? ' key' : ''}`);
  }

  audio(format: string, packet: Uint8Array, timestampMs: number): void {
    this.timesMs.audio = timestampMs;
    this.#tell(`audio ${format} ${Buffer.from(packet).toString('hex')}`);
  }

  command(command: number): void {
    this.#tell(`command 0x${command.toString(16)}`);
  }

  keyFrameWanted(): void {
    this.#tell('key frame wanted');
  }

  bitrate(bitsPerSecond: number): void {
    this.#tell(`bitrate ${bitsPerSecond}`);
  }

  gone(why: string): void {
    this.#tell(`gone: ${why}`);
  }

  /** Resolves when it was told this, at once if it was before. Rejects when the peer is gone without it. */
  async untilTold(line: string): Promise<void> {
    await this.until(() => this.told.includes(line) || this.#last.startsWith('gone: '));
    if (!this.told.includes(line)) throw new Error(`not told "${line}", but "${this.#last}"`);
  }

  get #last(): string {
    return this.told.at(-1) ?? '';
  }

  #tell(line: string): void {
    this.told.push(line);
    this.happened();
  }
}
