/**
 * How a server process stands among others that are one server with it: whom it shares its records with, who they are,
 * and what it does for those that are gone. Alone it is all there is. What several processes of one machine have is in
 * process-membership.ts, what nodes have in node-membership.ts. Source: cluster.md.
 */
import type { ConnectionKind, MemberId } from '../../model/cluster.ts';
import type { FetchCall } from '../../core/calls/leg-admission.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { ClusterFigures } from '../../telemetry/metric-gauges.ts';
import type { Exposition } from '../../telemetry/metrics.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { ControlPlane } from '../bootstrap/control-plane.ts';
import type { CallService } from '../bootstrap/call-service.ts';
import { clusterRoute, memberJson, type MemberJson } from './cluster-json.ts';
import type { DeviceListeners } from '../bootstrap/device-listeners.ts';
import type { ServerContext, PeerDeps } from '../bootstrap/server-context.ts';
import { memberStatus } from './member-status.ts';
import type { Records, SharedStoreDeps } from '../bootstrap/records.ts';
import type { ServerRole } from '../supervisor/roles.ts';
import { endOpenSessions } from '../bootstrap/start-up.ts';
import type { WebhookService, WebhooksDeps } from '../bootstrap/webhook-service.ts';

/** What this process has of a server's parts; null: another has it. */
export interface OwnServices {
  readonly deviceListeners: DeviceListeners | null;
  readonly calls: CallService | null;
}

/** What only a node has to do with: others share no store with it. */
export interface NodeServices {
  /** Whose outbox it is that commits go to. */
  readonly outboxOf: MemberId;
  /** The same records, with logins committed when all know them. */
  claimed(records: ConnectionRecords, connection: ConnectionKind): ConnectionRecords;
  /** The calls of this node, for an API that asks others for theirs. */
  callsOf(calls: CallService): ApiCalls;
  webhooks(deps: WebhooksDeps): WebhookService;
  readonly fetchCall: FetchCall;
  /** This node has changed the registry. */
  registryWritten(): void;
  /** Before this node's own registry comes in. Rejects with a sentence. */
  prepare(context: ServerContext, controlPlane: ControlPlane): Promise<void>;
  figures(): ClusterFigures;
  /** It is about to stop. */
  draining(): void;
  /** Behind everything else. */
  hangUp(): Promise<void>;
}

export interface Membership {
  readonly role: ServerRole;
  /** Null: no others, or they share the store. */
  readonly nodes: NodeServices | null;
  /** For the records; null: this process writes its store alone. */
  readonly shared: SharedStoreDeps | null;
  /** Of records that are open; null: alone. */
  cluster(records: Records, deps: PeerDeps): ClusterDeps | null;
  /** What operators see of all. `exposition` null: this process's own. `parts` is asked when somebody looks. */
  view(context: ServerContext, deps: () => OwnServices): MembershipView;
  /** Who issues calls, for a process that has none; null: it has. */
  callsElsewhere(context: ServerContext): ApiCalls | null;
  /** Resolves when the others reach it, and it them; before any listener accepts. Rejects with a sentence. */
  open(context: ServerContext, deps: OwnServices): Promise<void>;
  /** Ends, and commits the end of, what those that are gone have left open; from then on of all that go. */
  endLost(context: ServerContext): Promise<void>;
  /** Nobody can ask it any more. Before the records are closed. */
  close(): Promise<void>;
}

export interface MembershipView {
  readonly exposition: Exposition | null;
  readonly routes: readonly AdminRoute[];
}

export class AloneMembership implements Membership {
  readonly role = 'alone';
  readonly nodes = null;
  readonly shared = null;

  cluster(): null {
    return null;
  }

  view(context: ServerContext, deps: () => OwnServices): MembershipView {
    const member = `${context.node}/0@0` as MemberId;
    const life = { member, process: 0, startedAtMs: context.clock.wallMs() };
    const read = (): MemberJson => ({
      ...memberJson(memberStatus(context, life, deps().deviceListeners)),
      pid: process.pid,
    });
    return { exposition: null, routes: [clusterRoute(() => Promise.resolve([read()]))] };
  }

  callsElsewhere(): null {
    return null;
  }

  async open(): Promise<void> {}

  endLost(context: ServerContext): Promise<void> {
    return endOpenSessions(context);
  }

  async close(): Promise<void> {}
}
