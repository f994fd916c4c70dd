/**
 * The uplink of a bridge: its wish for the device's media, and reports of what cannot be made for it and why its own frames are dropped.
 * Source: calls-and-media.md, Legs.
 */
import { asItComes, type SoundShape, type UplinkWish } from '../../model/media/sound.ts';
import type { DropCause } from '../../model/media/picture.ts';
import { Receiver, uplinkTaking } from './receiver.ts';
import type { MediaUnavailable, LegOutput, SendQueue } from './send-queue.ts';

export class BridgeUplink {
  readonly out: LegOutput;
  readonly receiver: Receiver;
  readonly #dropCauses = new Set<DropCause>();
  #wish = asItComes;
  readonly #reported = new Set<string>();

  constructor(out: LegOutput, sendQueue: SendQueue) {
    this.out = out;
    const acceptedSound = (): SoundShape | 'any' => this.#wish.audio ?? 'any';
    const mediaUnavailable = this.#reportUnavailable;
    this.receiver = new Receiver(
      { kind: 'frames', isLeg: true, sendQueue, acceptedSound, mediaUnavailable },
      uplinkTaking(this.#wish),
    );
  }

  wants(wish: UplinkWish): void {
    this.#wish = wish;
    this.receiver.taking = uplinkTaking(wish);
    this.#reported.clear();
  }

  /** Reports once per wish. */
  readonly #reportUnavailable: MediaUnavailable = (what, why) => {
    if (!this.#reported.has(what)) this.out.mediaUnavailable?.(what, why);
    this.#reported.add(what);
  };

  framesDropped(cause: DropCause): void {
    if (!this.#dropCauses.has(cause)) this.out.framesDropped?.(cause);
    this.#dropCauses.add(cause);
  }
}
