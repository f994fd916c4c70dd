/**
 * The messages of one connection that wait for their acknowledgement. Made with a connection's first message. Until
 * it is opened nothing is sent: the welcome goes first. Source: signal-wire.md, Sending a message.
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

  /** Resolves within `messageAckMsMax`, whether the message could be sent by then or not. */
  deliver(message: DeviceMessage): Promise<DeliveryResult> {
    assert(!this.#waiting.has(message.id), 'no two messages have one id');
    if (this.#waiting.size >= messagesWaitingMax) return Promise.resolve('busy');
    return new Promise((answer) => {
      const cancelTimer = this.#clock.after(messageAckMsMax, () => this.#settle(message.id, 'unknown'));
      this.#waiting.set(message.id, { message, answer, cancelTimer });
      if (this.#isOpen) this.#send(encodeMessage(message));
    });
  }

  /** The welcome is out: what waited for it follows, in its order. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    // A send that fails ends the connection: nothing waits then, and the loop is over.
    for (const { message } of this.#waiting.values()) this.#send(encodeMessage(message));
  }

  /** An id that nobody waits for any more, or never did, is nothing. */
  acknowledge(id: string): void {
    this.#settle(id, 'acknowledged');
  }

  /** The connection is gone. */
  abandon(): void {
    for (const id of this.#waiting.keys()) this.#settle(id, 'unknown');
  }

  #settle(id: string, result: DeliveryResult): void {
    const delivery = this.#waiting.get(id);
    if (delivery === undefined) return;
    this.#waiting.delete(id);
    delivery.cancelTimer();
    delivery.answer(result);
  }
}
