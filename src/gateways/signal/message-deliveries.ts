/**
 * The messages of one connection that await their acknowledgement, created with the first message. They are queued until `open`,
 * since the welcome comes first. Source: signal-wire.md, Sending a message.
 */
import { assert } from '../../lib/assert.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { messageAckMsMax, messagesWaitingMax } from '../../model/limits.ts';
import type { DeliveryResult, DeviceMessage } from '../../model/signal.ts';
import { encodeMessage } from '../../protocol/signal/server-message.ts';

interface Delivery {
  readonly message: DeviceMessage;
  readonly answer: (result: DeliveryResult) => void;
  cancelTimer: Cancel;
}

export class MessageDeliveries {
  readonly #clock: Clock;
  readonly #send: (text: string) => void;
  readonly #waiting = new Map<string, Delivery>();
  #isOpen = false;

  constructor(clock: Clock, send: (text: string) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  /** Resolves within `messageAckMsMax`, even if the message could not be sent by then. */
  deliver(message: DeviceMessage): Promise<DeliveryResult> {
    assert(!this.#waiting.has(message.id), 'no two messages have one id');
    if (this.#waiting.size >= messagesWaitingMax) return Promise.resolve('busy');
    return new Promise((answer) => {
      const cancelTimer = this.#clock.after(messageAckMsMax, () => this.#complete(message.id, 'unknown'));
      this.#waiting.set(message.id, { message, answer, cancelTimer });
      if (this.#isOpen) this.#send(encodeMessage(message));
    });
  }

  /** The welcome was sent: sends the queued messages in order. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    // A failed send ends the connection, which empties the map and ends this loop.
    for (const { message } of this.#waiting.values()) this.#send(encodeMessage(message));
  }

  acknowledge(id: string): void {
    this.#complete(id, 'acknowledged');
  }

  abandon(): void {
    for (const id of this.#waiting.keys()) this.#complete(id, 'unknown');
  }

  #complete(id: string, result: DeliveryResult): void {
    const delivery = this.#waiting.get(id);
    if (delivery === undefined) return;
    this.#waiting.delete(id);
    delivery.cancelTimer();
    delivery.answer(result);
  }
}
