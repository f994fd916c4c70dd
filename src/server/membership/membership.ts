/**
 * Membership of a server in a cluster. A standalone server is a cluster of one: `Member` in this file, which a node (node-member.ts)
 * extends. A membership defines how records are written before the store is open; then `join` creates the member. Source: cluster.md.
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
import { endOpenSessions, type IsContinued } from '../bootstrap/records.ts';
import { Webhooks, type WebhookService, type WebhooksDeps } from '../bootstrap/webhook-service.ts';
import type { RecordStore } from '../../storage/journal/committer.ts';
import { OwnRecords } from '../../storage/journal/own-records.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';
import { readVersion } from '../../lib/package-version.ts';

export interface Membership extends RecordsMembership {
  join(open: OpenContext): Member;
  /** Disconnects, after everything else has closed. */
  hangUp(): Promise<void>;
}

/** The part of the control plane that a member's registry uses. */
export interface RegistryOwner {
  readonly tables: RegistryTables;
  /** A registry change of another node was applied here. */
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

/** A standalone member. Methods are called in the order of a start. NodeMember (node-member.ts) has other members. */
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

  /** Routes by which operators see all members. */
  routes({ own, settings }: ServerContext): readonly AdminRoute[] {
    const members = async (): Promise<MemberJson[]> => [{ ...memberJson(this.status()), pid: process.pid }];
    return [clusterRoute(members), siteRoute(own, settings.media.process !== 'none')];
  }

  webhooks(deps: WebhooksDeps): WebhookService {
    return new Webhooks(deps);
  }

  /** Called before this server's own registry is imported. Rejects with a sentence. */
  async prepare(_context: ServerContext, _controlPlane: RegistryOwner): Promise<void> {}

  /** Resolves when members can reach each other; called before any listener accepts. Rejects with a sentence. */
  async open(): Promise<void> {}

  /**
   * Ends sessions left open by an earlier process, commits that, and watches its wakeups. `isContinued`: true for an open session that
   * this process continues, or may continue.
   */
  async recover(context: ServerContext, isContinued: IsContinued): Promise<void> {
    await endOpenSessions(context, isContinued);
    context.watch.resume();
  }

  /** Calls were resumed from the store. */
  callsResumed(): void {}

  /** This server has written to the registry. */
  registryWritten(): void {}

  figures(): ClusterFigures | null {
    return null;
  }

  /** The server begins to drain. */
  draining(): void {}

  /** Stops answering other members, before the records are closed. */
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
