/** One attempt to bring one event to one receiver. Source: events.md, Webhooks. */
import type { Webhook } from '../../model/registry.ts';

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
