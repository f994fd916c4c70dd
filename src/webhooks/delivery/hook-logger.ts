/** The logger of a hook, for operators: counts, and a line where its state changes, never one an attempt. */
import type { LoggedEvent } from '../../model/events.ts';
import type { Webhook } from '../../model/registry.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { DeliveryFailure } from '../../core/ports/delivery-store.ts';

export class HookLogger {
  readonly #log: Log;
  readonly #telemetry: Pick<Telemetry, 'webhookDelivery'>;
  readonly #name: { readonly app_id: string; readonly url: string };

  constructor({ appId, url }: Webhook, log: Log, telemetry: Pick<Telemetry, 'webhookDelivery'>) {
    this.#log = log;
    this.#telemetry = telemetry;
    this.#name = { app_id: appId, url: speakableUrl(url) };
  }

  delivered(): void {
    this.#telemetry.webhookDelivery('delivered', 1);
  }

  failed(kind: 'failed' | 'gone'): void {
    this.#telemetry.webhookDelivery(kind, 1);
  }

  circuitOpened({ status, reason }: DeliveryFailure): void {
    this.#log.warn({ ...this.#name, status, reason }, 'webhook fails; one event at a time is tried');
  }

  circuitClosed(): void {
    this.#log.info(this.#name, 'webhook answers again');
  }

  switchedOff({ status }: DeliveryFailure): void {
    this.#log.warn({ ...this.#name, status }, 'the receiver wants no more; webhook switched off');
  }

  /** `hadRoom` false: the oldest of the parked was dropped for it. */
  parked({ id }: LoggedEvent, { status, reason }: DeliveryFailure, hadRoom: boolean): void {
    this.#telemetry.webhookDelivery('parked', 1);
    const message = hadRoom
      ? 'event parked'
      : 'event parked, and the oldest parked one dropped: there are too many';
    this.#log.warn({ ...this.#name, event_id: id, status, reason }, message);
  }

  /** So many of the log's events, for whomever they were. */
  lost(events: number): void {
    this.#telemetry.webhookDelivery('lost', events);
    this.#log.warn({ ...this.#name, events }, 'the log has forgotten events before this webhook read them');
  }

  missing(sequence: number): void {
    this.#telemetry.webhookDelivery('lost', 1);
    this.#log.error({ ...this.#name, sequence }, 'a failed event is not in the store');
  }
}

/** As it may stand in the log: what people put their tokens into is left out. */
function speakableUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
