/**
 * Who may administrate: whoever holds the token and asks by a known name. The name keeps out a browser that was
 * led here by another name for this address, the origin keeps out the pages of others; both hold for guests, too.
 * Source: running.md, Processes and listeners.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface Caller {
  /** Header values; empty where there is none. */
  readonly host: string;
  readonly origin: string;
  readonly authorization: string;
}

export interface CallerRefusal {
  readonly status: 401 | 403;
  readonly message: string;
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

/** A name or an address, IPv6 in brackets, with or without a port. */
const hostForm = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/;

export class CallerCheck {
  readonly #tokenHash: Buffer;
  readonly #names: ReadonlySet<string>;

  /** `names`: hosts known beside the loopback ones, without a port, IPv6 with or without brackets. */
  constructor(token: string, names: readonly string[]) {
    this.#tokenHash = sha256(`Bearer ${token}`);
    this.#names = new Set([...loopbackNames, ...names.map((name) => bracketed(name.toLowerCase()))]);
  }

  /** Null: may go on. */
  refuse(caller: Caller): CallerRefusal | null {
    const refusal = this.refuseGuest(caller);
    if (refusal !== null) return refusal;
    // Hashes have one length, so that comparing them tells neither the token nor its length.
    if (timingSafeEqual(sha256(caller.authorization), this.#tokenHash)) return null;
    return { status: 401, message: 'the bearer token of ops.token is needed' };
  }

  /** The same of somebody who brings a credential of another kind, which is not judged here. */
  refuseGuest({ host, origin }: Caller): CallerRefusal | null {
    const name = hostForm.exec(host.toLowerCase())?.[1];
    if (name === undefined || !this.#names.has(name)) return { status: 403, message: 'unknown Host' };
    if (origin !== '' && !isOwnOrigin(origin, host)) return { status: 403, message: 'foreign Origin' };
    return null;
  }
}

function bracketed(name: string): string {
  return name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
}

function isOwnOrigin(origin: string, host: string): boolean {
  const own = host.toLowerCase();
  return [`http://${own}`, `https://${own}`].includes(origin.toLowerCase());
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
