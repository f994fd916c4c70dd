/** The wish of a bridge for what it takes of the device, and its reports: what is not made of that, and why its own frames are dropped. Source: calls-and-media.md, Legs. */
import { asItComes, type SoundShape, type UplinkWish } from '../../model/media/sound.ts';
import type { DropCause } from '../../model/media/picture.ts';
import { Receiver, uplinkTaking } from './receiver.ts';
import type { GoesWithout, LegOutput, SendQueue } from './send-queue.ts';

export class BridgeUplink {
  readonly out: LegOutput;
  readonly receiver: Receiver;
  readonly #dropCauses = new Set<DropCause>();
  #wish = asItComes;
  readonly #told = new Set<string>();

  constructor(out: LegOutput, sendQueue: SendQueue) {
    this.out = out;
    const hears = (): SoundShape | 'any' => this.#wish.audio ?? 'any';
    const goesWithout = this.#goesWithout;
    this.receiver = new Receiver(
      { kind: 'frames', isLeg: true, sendQueue, hears, goesWithout },
      uplinkTaking(this.#wish),
    );
  }

  wants(wish: UplinkWish): void {
    this.#wish = wish;
    this.receiver.taking = uplinkTaking(wish);
    this.#told.clear();
  }

  /** Once for each wish. */
  readonly #goesWithout: GoesWithout = (what, why) => {
    if (!this.#told.has(what)) this.out.goesWithout?.(what, why);
    this.#told.add(what);
  };

  /** Reports each cause once. */
  framesDropped(cause: DropCause): void {
    if (!this.#dropCauses.has(cause)) this.out.framesDropped?.(cause);
    this.#dropCauses.add(cause);
  }
}
