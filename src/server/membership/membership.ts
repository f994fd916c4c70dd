/**
 * The place of a server among others that are one server with it. Alone is a cluster of one: it is the member that this file
 * has, and a node (node-member.ts) extends it. A membership says how records are written before the store is open;
 * `join` makes a member of what is open then. Source: cluster.md.
 */
import type { MemberId, MemberStatus } from '../../model/cluster.ts';
import { callsHere, type CallLocator } from '../../core/ports/call-locator.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import { observeOwn, type Observe } from '../../core/devices/observe-device.ts';
import { siteRoute } from '../site/site-route.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { ClusterFigures } from '../../telemetry/gauges.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import { noPeers, type Peers } from '../../core/ports/peers.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { clusterRoute, memberJson, type MemberJson } from './cluster-json.ts';
import type {
  ContextMember,
  OpenContext,
  RecordsMembership,
  ServerContext,
} from '../bootstrap/server-context.ts';
import { endOpenSessions, type GoesOn } from '../bootstrap/records.ts';
import { Webhooks, type WebhookService, type WebhooksDeps } from '../bootstrap/webhook-service.ts';
import type { RecordStore } from '../../storage/journal/committer.ts';
import { OwnRecords } from '../../storage/journal/own-records.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import { readVersion } from '../../lib/package-version.ts';

export interface Membership extends RecordsMembership {
  join(open: OpenContext): Member;
  /** Behind everything else. */
  hangUp(): Promise<void>;
}

/** The control plane, as a member's registry needs it. */
export interface RegistryOwner {
  readonly tables: RegistryTables;
  /** Another node has changed the registry, and it is here. */
  registryApplied(): void;
}

export class AloneMembership implements Membership {
  readonly countsEvents = true;

  openRecordStore(state: StateTables): RecordStore {
    return new OwnRecords(state);
  }

  claimed(records: ConnectionRecords): ConnectionRecords {
    return records;
  }

  join(open: OpenContext): Member {
    const member = `${open.node}@0` as MemberId;
    return new Member(open, { member, startedAtMs: open.clock.wallMs() });
  }

  async hangUp(): Promise<void> {}
}

/** A server that is the only member, in the order of its start. A node is one that has others (node-member.ts). */
export class Member implements ContextMember {
  readonly peers: Peers = noPeers;
  readonly observe: Observe = observeOwn;
  readonly cluster: ClusterDeps | null = null;
  readonly callLocator: CallLocator = callsHere;
  protected readonly known: OpenContext;
  readonly #life: OwnLife;

  constructor(known: OpenContext, life: OwnLife) {
    this.known = known;
    this.#life = life;
  }

  /** Operators see all members by them. */
  routes({ own, settings }: ServerContext): readonly AdminRoute[] {
    const members = async (): Promise<MemberJson[]> => [{ ...memberJson(this.status()), pid: process.pid }];
    return [clusterRoute(members), siteRoute(own, settings.media.process !== 'none')];
  }

  webhooks(deps: WebhooksDeps): WebhookService {
    return new Webhooks(deps);
  }

  /** Before this server's own registry comes in. Rejects with a sentence. */
  async prepare(_context: ServerContext, _controlPlane: RegistryOwner): Promise<void> {}

  /** Resolves when the others reach it, and it them; before any listener accepts. Rejects with a sentence. */
  async open(): Promise<void> {}

  /**
   * Ends, and commits the end of, what an earlier life has left open, and watches its wakeups. `goesOn`: of an open session: it
   * is one of an earlier process that goes on here, or may yet.
   */
  async recover(context: ServerContext, goesOn: GoesOn): Promise<void> {
    await endOpenSessions(context, goesOn);
    context.watch.resume();
  }

  /** The calls of the last stop are here. */
  callsResumed(): void {}

  /** This server has changed the registry. */
  registryWritten(): void {}

  figures(): ClusterFigures | null {
    return null;
  }

  /** It is about to stop. */
  draining(): void {}

  /** Ends its answers to other members, before the records are closed. */
  async close(): Promise<void> {}

  protected status(): MemberStatus {
    const { node, readiness, own } = this.known;
    return {
      ...this.#life,
      node,
      state: readiness.isDraining() ? 'draining' : 'up',
      version: readVersion(),
      sleepSessions: own.deviceListeners.sleep.sessionCount,
      signalSessions: own.deviceListeners.signal.sessionCount,
      outboxLength: 0,
      eventLag: 0,
      leaseAgeMs: 0,
    };
  }
}

export type OwnLife = Pick<MemberStatus, 'member' | 'startedAtMs'>;
