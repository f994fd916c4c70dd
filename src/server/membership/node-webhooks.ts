/** Webhooks of a node. One node at a time delivers, from a shared delivery store. Source: cluster.md, Events. */
import type { NodeTransport } from '../../cluster/nats/node-transport.ts';
import { NatsDeliveryStore } from '../../cluster/records/nats-delivery-store.ts';
import { WebhookLease } from '../../cluster/membership/webhook-lease.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { WebhookService, WebhooksDeps } from '../bootstrap/webhook-service.ts';
import { WebhookLeaderElection } from '../bootstrap/webhook-leader-election.ts';

export function nodeWebhooks(
  transport: Pick<NodeTransport, 'bucket' | 'isUnavailable'>,
  members: Pick<Peers, 'isAlive'>,
  self: MemberId,
  deps: WebhooksDeps,
): WebhookService {
  const { clock, log } = deps;
  const kv = transport.bucket('hooks');
  let lease: WebhookLease | null = null;
  return new WebhookLeaderElection({
    ...deps,
    isCutOff: () => transport.isUnavailable,
    deliveries: new NatsDeliveryStore({ kv, log, mayWrite: () => lease?.isHeld === true }),
    turns: (callbacks) => {
      lease = new WebhookLease({
        ...callbacks,
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
