/** Whom the latest events may be for, so that a thousand hooks of others need not look at each of them. */
import type { ApplicationId } from '../../model/ids.ts';
import type { WebhookRegistry } from '../../core/ports/webhook-sources.ts';
import { concernedEventsMax } from './limits.ts';
import type { LogTail } from './log-tail.ts';

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
