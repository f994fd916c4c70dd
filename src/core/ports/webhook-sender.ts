/**
 * The ports of the delivery of webhooks: the log and the registered receivers, which it reads and never writes, and one attempt
 * to bring one event to one receiver. Source: events.md, Webhooks.
 */
import type { Webhook, Product } from '../../model/registry.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { ProductId } from '../../model/ids.ts';

/** The log as another thread reads it, from the memory map. Each throws when the store cannot be read. */
export interface LogPages {
  /** The sequence of the oldest event that is kept; one more than the newest when there is none. */
  readonly oldest: number;
  /** Events behind `after` and not beyond `upTo`, in the order of the log, at most `limit`. */
  read(after: number, limit: number, upTo: number): readonly LoggedEvent[];
}

export interface WebhookRegistry {
  /** In one order, always the same. Throws when the store cannot be read. */
  webhooks(): Iterable<Webhook>;
  findProduct(productId: ProductId): Product | null;
}

export interface WebhookMessage {
  /** The same at every attempt. */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
}

export type WebhookAnswer =
  | { readonly kind: 'delivered'; readonly status: number }
  /** 410: the receiver wants nothing more. */
  | { readonly kind: 'gone'; readonly status: number; readonly reason: string }
  /** `status` null: there was no whole answer. */
  | { readonly kind: 'failed'; readonly status: number | null; readonly reason: string };

export interface WebhookSender {
  /** Resolves within the deadline of an attempt; never rejects. */
  send(webhook: Webhook, message: WebhookMessage): Promise<WebhookAnswer>;
  /** Ends what is under way and what is kept open: those attempts are failed ones. */
  close(): void;
}
