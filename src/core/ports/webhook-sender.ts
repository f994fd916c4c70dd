/**
 * The ports of webhook delivery: the log and the registered receivers, both read-only, and one attempt to send one event to one
 * receiver. Source: events.md, Webhooks.
 */
import type { Webhook, Product } from '../../model/registry.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { ProductId } from '../../model/ids.ts';

/** The log as read by another thread, from the memory map. Reads throw when the store cannot be read. */
export interface LogPages {
  /** The sequence of the oldest retained event; one more than the newest when there is none. */
  readonly oldest: number;
  /** Events after `after` up to `upTo`, in log order, at most `limit`. */
  read(after: number, limit: number, upTo: number): readonly LoggedEvent[];
}

export interface WebhookRegistry {
  /** In a stable order. Throws when the store cannot be read. */
  webhooks(): Iterable<Webhook>;
  findProduct(productId: ProductId): Product | null;
}

export interface WebhookMessage {
  /** The same at each attempt. */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
}

export type WebhookAnswer =
  | { readonly kind: 'delivered'; readonly status: number }
  /** 410: the receiver unsubscribes. */
  | { readonly kind: 'gone'; readonly status: number; readonly reason: string }
  /** `status` null: no complete answer arrived. */
  | { readonly kind: 'failed'; readonly status: number | null; readonly reason: string };

export interface WebhookSender {
  /** Resolves within the deadline of an attempt; never rejects. */
  send(webhook: Webhook, message: WebhookMessage): Promise<WebhookAnswer>;
  /** Aborts attempts in progress, which count as failed, and closes kept connections. */
  close(): void;
}
