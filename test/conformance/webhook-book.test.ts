import { sharedBook, storedBook } from '../support/kept-books.ts';
import { MemoryShelf } from '../support/memory-shelf.ts';
import { MemoryWebhookBook } from '../support/memory-webhook-book.ts';
import { webhookBookConformance } from './webhook-book.ts';

webhookBookConformance('the book in memory', async () => {
  const book = new MemoryWebhookBook();
  return { book, next: async () => book };
});
webhookBookConformance('the book in LMDB', storedBook);
webhookBookConformance('the book that nodes share', (t) => sharedBook(t, new MemoryShelf()));
