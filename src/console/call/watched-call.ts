/**
 * The requests of a call page. A ticket opens the call once and returns the page's key, which is kept in a variable only. An
 * operator's page requests tickets itself, each recorded in the audit log; a viewer has the one in the link.
 */
import type { OpenedCallJson } from '../../gateways/console/call-page.ts';
import { type Client, RequestError, send } from '../client.ts';

export type Entrance =
  | { readonly kind: 'operator'; readonly client: Client; readonly session: string }
  /** Null: the link was already used. */
  | { readonly kind: 'viewer'; readonly ticket: string | null };

export class CallOver extends Error {}

const linkUsed = 'This link was already used, or is older than a minute: ask for a new one.';
const callEnded = 'The call has ended.';
const keyExpired = 'This page has expired: half an hour has passed, or the server was restarted.';

export class WatchedCall {
  readonly #entrance: Entrance;
  /** Null: the next request opens the call. */
  #key: Promise<string> | null = null;

  constructor(entrance: Entrance) {
    this.#entrance = entrance;
  }

  /** Rejects with a CallOver or a RequestError. */
  async ask<Answer>(method: 'GET' | 'POST', path: string): Promise<Answer> {
    const opening = (this.#key ??= this.#open());
    try {
      return await send<Answer>(method, path, { Authorization: `Bearer ${await opening}` });
    } catch (error) {
      if (!isStatus(error, 401)) throw error;
      if (this.#entrance.kind === 'viewer') throw new CallOver(keyExpired);
      if (this.#key === opening) this.#key = null;
      throw error;
    }
  }

  async #open(): Promise<string> {
    try {
      const ticket = await this.#ticket();
      const { key } = await send<OpenedCallJson>('POST', '/watch/open', {}, { ticket });
      return key;
    } catch (error) {
      this.#key = null;
      if (!(error instanceof RequestError) || error.status === 0) throw error;
      // Not retried: each ticket of an operator is recorded in the audit log.
      if (error.status === 404) throw new CallOver(callEnded);
      throw new CallOver(error.status === 401 ? linkUsed : error.message);
    }
  }

  async #ticket(): Promise<string> {
    if (this.#entrance.kind === 'operator') {
      const { client, session } = this.#entrance;
      const { url } = await client.change<{ readonly url: string }>('/v1/calls/watch', { session });
      return new URL(url).searchParams.get('ticket') ?? '';
    }
    if (this.#entrance.ticket === null) throw new CallOver(linkUsed);
    return this.#entrance.ticket;
  }
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof RequestError && error.status === status;
}
