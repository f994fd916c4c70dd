/** The webhooks of a node: delivered in turn with the others, from a book that all share. Source: cluster.md, Events. */
import type { NatsLink } from '../../cluster/nats/nats-link.ts';
import { NatsShelf } from '../../cluster/nats/shelf.ts';
import { WebhookBookVault } from '../../cluster/records/webhook-book-vault.ts';
import { WebhookLease } from '../../cluster/membership/webhook-lease.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { WebhookService, WebhooksParts } from '../bootstrap/webhook-service.ts';
import { WebhookSuccession } from '../bootstrap/webhook-succession.ts';

export function nodeWebhooks(
  link: NatsLink,
  members: Pick<Peers, 'isAlive'>,
  self: MemberId,
  parts: WebhooksParts,
): WebhookService {
  const { clock, log } = parts;
  const shelf = new NatsShelf(link, 'hooks');
  let lease: WebhookLease | null = null;
  return new WebhookSuccession({
    ...parts,
    book: new WebhookBookVault({ shelf, log, mayWrite: () => lease?.isHeld === true }),
    turns: (told) => {
      lease = new WebhookLease({
        ...told,
        shelf,
        clock,
        log,
        self,
        isAlive: (member) => members.isAlive(member),
      });
      return lease;
    },
  });
}
