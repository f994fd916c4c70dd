/** Events of what nobody's own store has committed: a session that others ended, or one that is claimed again. */
import type { Clock } from '../../lib/clock.ts';
import type { EventDraft } from '../../model/events.ts';
import { generateEventId, type DeviceId, type EventId, type ProductId } from '../../model/ids.ts';
import type { OutboxEvent } from '../../core/ports/outbox.ts';

export class MadeEvents {
  readonly #clock: Clock;
  readonly #productOf: (deviceId: DeviceId) => ProductId | null;
  #made = 0;
  #lastMs = 0;

  constructor(clock: Clock, productOf: (deviceId: DeviceId) => ProductId | null) {
    this.#clock = clock;
    this.#productOf = productOf;
  }

  make(draft: EventDraft): OutboxEvent {
    return this.of({ id: this.id(), draft });
  }

  /** For an event that is made later. */
  id(): EventId {
    this.#lastMs = Math.max(this.#lastMs, this.#clock.wallMs());
    this.#made += 1;
    return generateEventId(this.#lastMs, this.#made);
  }

  /** One that has its id. */
  of({ id, draft }: { readonly id: EventId; readonly draft: EventDraft }): OutboxEvent {
    return { id, draft, productId: this.#productOf(draft.deviceId) };
  }
}
