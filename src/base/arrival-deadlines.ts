/**
 * Connections that have not shown yet who they are: each has so long in all, however it sends what it sends. Node's own
 * deadlines are one a step, TLS and then the request, and some begin anew with every byte.
 */
import type { Socket } from 'node:net';
import type { Cancel, Clock } from './clock.ts';

/** With TLS a connection is two objects: the socket that came, and the one that is read. Both have its address. */
type Ends = Pick<Socket, 'remoteAddress' | 'remotePort'>;

export class ArrivalDeadlines {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #waiting = new Map<string, Cancel>();

  constructor(clock: Clock, waitMs: number) {
    this.#clock = clock;
    this.#waitMs = waitMs;
  }

  /** Cuts it when its time is up. To be called when it has just come. */
  begin(socket: Socket): void {
    const key = keyOf(socket);
    const cancel = this.#clock.after(this.#waitMs, () => socket.destroy());
    this.#waiting.set(key, cancel);
    socket.once('close', () => {
      cancel();
      if (this.#waiting.get(key) === cancel) this.#waiting.delete(key);
    });
  }

  /** It has shown what it had to. */
  met(socket: Ends): void {
    const key = keyOf(socket);
    this.#waiting.get(key)?.();
    this.#waiting.delete(key);
  }
}

function keyOf({ remoteAddress, remotePort }: Ends): string {
  return `${remoteAddress} ${remotePort}`;
}
