/**
 * Lets go of a connection's socket at once. The client gives a silent server up only when the last bytes to it have been
 * taken, and a peer that is silent takes none when the socket's buffer is full: it would wait for TCP to give up, a
 * quarter of an hour. What it keeps its socket in is not of its published interface, so it may be another one day; then
 * this does nothing, and a test says so.
 */
import type { NatsConnection } from '@nats-io/nats-core';

interface WithTransport {
  readonly protocol?: { readonly transport?: { discard?(): void } };
}

export function abandonSocket(connection: NatsConnection): void {
  (connection as WithTransport).protocol?.transport?.discard?.();
}
