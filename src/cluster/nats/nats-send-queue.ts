/**
 * Bounds the messages to other members over NATS: the client takes everything at once and does not say what waits. A
 * server that has answered a ping has taken all that was sent before; with `peerBacklogBytesMax` sent and not yet taken,
 * nothing more is sent.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { peerBacklogBytesMax, peerMessageBytesMax } from '../../model/limits.ts';

interface SendQueueLink {
  readonly isUnavailable: boolean;
  readonly connection: Pick<NatsConnection, 'publish' | 'flush'>;
}

export class NatsSendQueue {
  readonly #link: SendQueueLink;
  #waitingBytes = 0;
  #isFlushing = false;

  constructor(link: SendQueueLink) {
    this.#link = link;
  }

  /** False: the message is not sent, and nobody has it. Never throws. */
  send(subject: string, bytes: Uint8Array, reply?: string): boolean {
    const isTooMuch =
      bytes.length > peerMessageBytesMax || this.#waitingBytes + bytes.length > peerBacklogBytesMax;
    if (this.#link.isUnavailable || isTooMuch) return false;
    try {
      this.#link.connection.publish(subject, bytes, reply === undefined ? undefined : { reply });
    } catch {
      // Closed, or larger than this server takes.
      return false;
    }
    this.#waitingBytes += bytes.length;
    if (!this.#isFlushing) void this.#flush();
    return true;
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true;
    while (this.#waitingBytes > 0) {
      const sentBytes = this.#waitingBytes;
      // A flush fails with the connection, and what waited is lost with it.
      await this.#link.connection.flush().catch(() => undefined);
      this.#waitingBytes -= sentBytes;
    }
    this.#isFlushing = false;
  }
}
