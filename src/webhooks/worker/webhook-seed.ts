/** The webhooks' delivery store of this node, made anew from what the nodes share. Nothing else has it open meanwhile. */
import type { HookChanges } from '../../core/ports/delivery-store.ts';
import { LmdbDeliveryStore } from '../../storage/webhooks/lmdb-delivery-store.ts';
import { WebhookTables } from '../../storage/webhooks/webhook-tables.ts';

type Take = (changes: readonly HookChanges[]) => Promise<void>;

/** `load` hands over what there is. Resolves to the newest cursor of all hooks; 0: there is none. */
export async function seedDeliveryStore(
  directory: string,
  load: (take: Take) => Promise<void>,
): Promise<number> {
  const tables = new WebhookTables(directory, 'write');
  try {
    const deliveries = new LmdbDeliveryStore(tables);
    await deliveries.commit(Array.from(deliveries.hooks(), ([id, { number }]) => gone(id, number)));
    await deliveries.sweep();
    await load((changes) => deliveries.commit(changes));
    return Math.max(0, ...Array.from(deliveries.hooks().values(), ({ cursor }) => cursor));
  } finally {
    await tables.environment.close();
  }
}

function gone(id: string, number: number): HookChanges {
  return { id, number, record: null, failed: new Map(), parked: new Map(), parkedTrimmed: 0 };
}
