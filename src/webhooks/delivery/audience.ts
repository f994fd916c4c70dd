/** Whether an event is for a hook: of a device of its application's products, and of a type it wants. */
import type { LoggedEvent } from '../../model/events.ts';
import type { ApplicationId } from '../../model/ids.ts';
import type { Webhook } from '../../model/registry.ts';
import type { WebhookRegistry } from '../../core/ports/webhook-sources.ts';

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
