/** Membership of a node in a cluster over NATS. Each node has its own store. Source: cluster.md. */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { randomBytes } from 'node:crypto';
import { assert } from '../../lib/assert.ts';
import { NatsTransport, type NodeTransport } from '../../cluster/nats/node-transport.ts';
import { PendingClaims, ClaimedRecords } from '../../cluster/ownership/pending-claims.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import type { Log } from '../../lib/log.ts';
import type { Member, Membership, OwnLife } from './membership.ts';
import type { OpenContext } from '../bootstrap/server-context.ts';
import { NodeMember, type NodeStore } from './node-member.ts';
import type { RecordStore } from '../../storage/journal/committer.ts';
import { OutboxRecords } from '../../storage/journal/outbox-records.ts';
import { OutboxStore } from '../../storage/journal/outbox-store.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import type { Settings } from '../config/settings-schema.ts';

const dayMs = 24 * 3600 * 1000;

export interface NodeDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly node: string;
}

export class NodeMembership implements Membership {
  /** The node that publishes an event to the shared log counts it. */
  readonly countsEvents = false;
  readonly #link: NodeTransport;
  readonly #claims: PendingClaims;
  readonly #life: OwnLife;
  /** Null: not open yet. */
  #store: NodeStore | null = null;

  constructor(link: NodeTransport, { clock, node }: Pick<NodeDeps, 'clock' | 'node'>) {
    this.#link = link;
    this.#claims = new PendingClaims(clock, () => link.isUnavailable);
    const member = `${node}@${randomBytes(8).toString('hex')}` as OwnLife['member'];
    this.#life = { member, startedAtMs: clock.wallMs() };
  }

  /** Rejects with a sentence when URL or credentials are invalid; NATS itself may be unreachable. */
  static async open(settings: Settings, url: string, frame: NodeDeps): Promise<NodeMembership> {
    const { cluster, events } = settings;
    const transport = await NatsTransport.open({
      ...frame,
      url,
      credentialsPath: cluster.nats_credentials,
      caPath: cluster.nats_ca,
      prefix: cluster.nats_prefix,
      nodeName: frame.node,
      replicas: cluster.replicas,
      eventsRetainedMax: events.retained_max,
      eventsRetentionMs: events.retention_days * dayMs,
    });
    return new NodeMembership(transport, frame);
  }

  openRecordStore(state: StateTables, log: Log): RecordStore {
    this.#store = { state, outbox: new OutboxStore(state, log) };
    return new OutboxRecords(this.#store.outbox, this.#life.member);
  }

  claimed(records: ConnectionRecords, connection: ConnectionKind): ConnectionRecords {
    return new ClaimedRecords(records, connection, this.#claims);
  }

  join(open: OpenContext): Member {
    assert(this.#store !== null, 'its store is open');
    return new NodeMember(open, { link: this.#link, claims: this.#claims, store: this.#store }, this.#life);
  }

  async hangUp(): Promise<void> {
    await this.#link.close();
  }
}
