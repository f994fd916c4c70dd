/**
 * The connections that have not been let in yet, by address, so that one address does not hold all the places there are for
 * them. In TLS a request comes by another socket than the one that was accepted: both know a connection by where it comes from.
 */
import type { Socket } from 'node:net';
import { addressKey } from './address-key.ts';

/** Where it comes from; without an address it is gone already. */
type Origin = Pick<Socket, 'remoteAddress' | 'remotePort'>;

export class NewConnections {
  readonly #perAddressMax: number;
  /** Address keys by origin. */
  readonly #addresses = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  /** `perAddressMax`: 0 for no bound, as it must be behind a proxy. */
  constructor(perAddressMax: number) {
    this.#perAddressMax = perAddressMax;
  }

  /** One has come. Null: it is one too many of its address. Else to be called when it is closed. */
  enter(socket: Origin): (() => void) | null {
    const { remoteAddress, remotePort } = socket;
    if (remoteAddress === undefined || this.#perAddressMax === 0) return () => undefined;
    const address = addressKey(remoteAddress);
    const count = this.#counts.get(address) ?? 0;
    if (count >= this.#perAddressMax) return null;
    const origin = originOf(remoteAddress, remotePort);
    this.#addresses.set(origin, address);
    this.#counts.set(address, count + 1);
    return () => this.#leave(origin);
  }

  /** It counts no more. */
  letIn({ remoteAddress, remotePort }: Origin): void {
    if (remoteAddress !== undefined) this.#leave(originOf(remoteAddress, remotePort));
  }

  #leave(origin: string): void {
    const address = this.#addresses.get(origin);
    if (address === undefined) return;
    this.#addresses.delete(origin);
    const left = (this.#counts.get(address) ?? 0) - 1;
    if (left > 0) this.#counts.set(address, left);
    else this.#counts.delete(address);
  }
}

function originOf(address: string, port: number | undefined): string {
  return `${address} ${port ?? ''}`;
}
