/** From the device to the bridge: everything, untouched. Source: calls-and-media.md, Legs. */
import type { Clock } from '../../lib/clock.ts';
import type { FrameHeader } from '../../protocol/media/frame-header.ts';
import type { FrameTally } from './frame-tally.ts';
import { type KeyFrameRequest, passedOn, SourceReader, type SourceVideo } from './source-video.ts';
import type { SendQueue } from './send-queue.ts';

export class Uplink {
  /** The bridge's; null: it is not there. */
  sendQueue: SendQueue | null = null;
  readonly #tally: FrameTally;
  readonly #reader: SourceReader;

  constructor(clock: Clock, tally: FrameTally) {
    this.#tally = tally;
    this.#reader = new SourceReader(clock);
  }

  /** `keyFrames`: by which the device is asked for some. */
  take(
    keyFrames: KeyFrameRequest,
    header: FrameHeader,
    payload: Uint8Array<ArrayBuffer>,
    headerBytes: Uint8Array,
  ): void {
    if (header.kind === 'video') this.#takeVideo(keyFrames, this.#reader.read(header, payload, headerBytes));
    else if (this.sendQueue === null) this.#tally.frame('no_receiver');
    else this.sendQueue.offerAudio(header.timestampMs, payload, headerBytes);
  }

  #takeVideo(keyFrames: KeyFrameRequest, source: SourceVideo): void {
    const { sendQueue } = this;
    keyFrames.cameBy(source);
    if (sendQueue === null) return this.#tally.frame('no_receiver');
    sendQueue.offerVideo(passedOn(source, true));
    if (sendQueue.lacksKey) keyFrames.want();
  }
}
