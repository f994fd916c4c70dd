/** The applications that an event concerns, so that a thousand hooks of others need not look at it. */
import type { LoggedEvent } from '../../model/events.ts';
import type { ApplicationId } from '../../model/ids.ts';
import type { Webhook } from '../../model/registry.ts';
import type { WebhookRegistry } from '../../core/ports/webhook-sources.ts';
import { concernedEventsMax } from './limits.ts';
import type { LogTail } from './log-tail.ts';

export class Audience {
  readonly #registry: Pick<WebhookRegistry, 'findProduct'>;
  readonly #appId: ApplicationId;
  /** Null: all of them. */
  readonly #types: ReadonlySet<string> | null;

  constructor({ appId, types }: Webhook, registry: Pick<WebhookRegistry, 'findProduct'>) {
    this.#registry = registry;
    this.#appId = appId;
    this.#types = types.includes('*') ? null : new Set(types);
  }

  /** By the products as they are now. Throws when the registry cannot be read. */
  wants({ type, productId }: LoggedEvent): boolean {
    if (productId === null || (this.#types !== null && !this.#types.has(type))) return false;
    return this.#registry.findProduct(productId)?.appIds.includes(this.#appId) ?? false;
  }
}

/** Applications of the events behind `after`; null: there are too many events to say, or they cannot be read. */
export function findConcerned(
  tail: LogTail,
  after: number,
  registry: Pick<WebhookRegistry, 'findProduct'>,
): ReadonlySet<ApplicationId> | null {
  if (tail.head - after > concernedEventsMax) return null;
  try {
    const events = tail.read(after, concernedEventsMax);
    if (events.at(-1)?.sequence !== tail.head) return null;
    const concerned = new Set<ApplicationId>();
    for (const { productId } of events)
      for (const appId of (productId === null ? null : registry.findProduct(productId))?.appIds ?? [])
        concerned.add(appId);
    return concerned;
  } catch {
    return null;
  }
}
