/** Books of the webhooks in LMDB: of a node that is alone, and of one whose book is kept where all nodes have it. */
import type { Shelf } from '../../src/cluster/nats/shelf.ts';
import { WebhookBookVault } from '../../src/cluster/records/webhook-book-vault.ts';
import { seedWebhookBook } from '../../src/webhooks/worker/webhook-seed.ts';
import { WebhookBookStore } from '../../src/storage/webhooks/webhook-book-store.ts';
import { WebhookTables } from '../../src/storage/webhooks/webhook-tables.ts';
import { SharedBook } from '../../src/webhooks/delivery/shared-book.ts';
import type { KeptBook } from '../conformance/webhook-book.ts';
import { FakeLog } from './fakes.ts';
import { lastFirst, temporaryDirectory, type Ending } from './temporary-store.ts';

/** `next`: the same node, after a restart. */
export async function storedBook(t: Ending): Promise<KeptBook> {
  const ending = lastFirst(t);
  const directory = temporaryDirectory(ending);
  const book = openBook(ending, directory, 'write');
  return { book, next: async () => openBook(ending, directory, 'read-only') };
}

/** `next`: another node, which takes over. */
export async function sharedBook(t: Ending, shelf: Shelf): Promise<KeptBook> {
  const ending = lastFirst(t);
  const vault = vaultOn(shelf);
  await vault.load(async () => undefined);
  const own = openBook(ending, temporaryDirectory(ending), 'write');
  return {
    book: new SharedBook(own, (changes) => vault.keep(changes)),
    async next() {
      const directory = temporaryDirectory(ending);
      await seedWebhookBook(directory, (take) => vaultOn(shelf).load(take));
      return openBook(ending, directory, 'write');
    },
  };
}

function vaultOn(shelf: Shelf): WebhookBookVault {
  return new WebhookBookVault({ shelf, log: new FakeLog(), mayWrite: () => true });
}

function openBook(ending: Ending, directory: string, mode: 'write' | 'read-only'): WebhookBookStore {
  const tables = new WebhookTables(directory, mode);
  ending.after(() => tables.environment.close());
  return new WebhookBookStore(tables);
}
