/** The sources that webhooks read and never write: the log, and the registered receivers. */
import type { LoggedEvent } from '../../model/events.ts';
import type { ProductId } from '../../model/ids.ts';
import type { Product, Webhook } from '../../model/registry.ts';

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
