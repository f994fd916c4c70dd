/** The webhooks of a node: delivered in turn with the others, from a store that all share. Source: cluster.md, Events. */
import type { NatsLink } from '../../cluster/nats/nats-link.ts';
import { NatsKvStore } from '../../cluster/nats/nats-kv-store.ts';
import { NatsDeliveryStore } from '../../cluster/records/nats-delivery-store.ts';
import { WebhookLease } from '../../cluster/membership/webhook-lease.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { WebhookService, WebhooksDeps } from '../bootstrap/webhook-service.ts';
import { WebhookLeaderElection } from '../bootstrap/webhook-leader-election.ts';

export function nodeWebhooks(
  link: NatsLink,
  members: Pick<Peers, 'isAlive'>,
  self: MemberId,
  deps: WebhooksDeps,
): WebhookService {
  const { clock, log } = deps;
  const kv = new NatsKvStore(link, 'hooks', clock);
  let lease: WebhookLease | null = null;
  return new WebhookLeaderElection({
    ...deps,
    deliveries: new NatsDeliveryStore({ kv, log, mayWrite: () => lease?.isHeld === true }),
    turns: (told) => {
      lease = new WebhookLease({
        ...told,
        kv,
        clock,
        log,
        self,
        isAlive: (member) => members.isAlive(member),
      });
      return lease;
    },
  });
}
