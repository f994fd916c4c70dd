/** One process of several of a machine, as its server has it: the coordinator or a worker. Source: cluster.md, Several processes on one machine. */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { MemberId } from '../../model/cluster.ts';
import { followLoggedSessions } from '../../core/wakeups/log-followers.ts';
import { MeasuredPeers } from '../../cluster/ipc/measured-peers.ts';
import { SlotReconciler } from '../../cluster/ownership/slot-reconciler.ts';
import { locatedHere, type CallLocator } from '../../core/calls/end-call.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import { MemberSearch } from '../../core/devices/member-search.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Provision } from '../../gateways/api/device-endpoints.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { OpenContext, ServerContext } from '../bootstrap/server-context.ts';
import { AloneMember, type Member, type Membership, type MembershipView } from './membership.ts';
import {
  callsAtCoordinator,
  locatedAtCoordinator,
  processAnswers,
  provisionAtCoordinator,
} from '../supervisor/process-answers.ts';
import { WorkerSet, type WorkerHandle } from '../supervisor/worker-set.ts';
import { ProcessLosses, missingProcesses, processMetrics, processRoutes } from '../supervisor/coordinator.ts';
import type { ProcessRole } from '../supervisor/process-messages.ts';
import type { RecordStore } from '../../storage/journal/committer.ts';
import { SharedRecords } from '../../storage/journal/shared-records.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';

export class ProcessMembership implements Membership {
  readonly role: ProcessRole;
  readonly watcher: MemberId;
  readonly countsEvents: boolean;
  readonly #workerSet: WorkerSet;
  /** Null: its store is not open yet. */
  #records: SharedRecords | null = null;

  constructor(handle: WorkerHandle, { clock, log }: { readonly clock: Clock; readonly log: Log }) {
    const { role, member } = handle.task;
    this.role = role;
    this.watcher = member;
    this.countsEvents = role === 'coordinator';
    this.#workerSet = new WorkerSet(handle, { clock, log });
  }

  openRecordStore(state: StateTables, node: string): RecordStore {
    const { peers } = this.#workerSet;
    const grew = (): void => peers.notify('everybody', { kind: 'log-grew' });
    return (this.#records = new SharedRecords(state, { member: this.watcher, node, grew }));
  }

  claimed(records: ConnectionRecords): ConnectionRecords {
    return records;
  }

  join(open: OpenContext): Member {
    assert(this.#records !== null, 'its store is open');
    return new ProcessMember(open, this.#workerSet, this.#records);
  }

  async hangUp(): Promise<void> {}
}

class ProcessMember extends AloneMember {
  override readonly peers: Peers;
  override readonly cluster: ClusterDeps;
  override readonly callLocator: CallLocator;
  readonly #workerSet: WorkerSet;
  readonly #records: SharedRecords;
  readonly #isCoordinator: boolean;
  /** Null: nobody's are looked for yet. */
  #losses: ProcessLosses | null = null;

  constructor(open: OpenContext, workerSet: WorkerSet, records: SharedRecords) {
    const { role, member, process } = workerSet.handle.task;
    super(open, { member, process, startedAtMs: open.clock.wallMs() });
    const { locator, wakeups, events } = open.records;
    this.#workerSet = workerSet;
    this.#records = records;
    this.#isCoordinator = role === 'coordinator';
    this.peers = new MeasuredPeers(workerSet.peers, open);
    this.callLocator = this.#isCoordinator
      ? locatedHere
      : locatedAtCoordinator(open.clock, this.peers, workerSet);
    this.cluster = {
      peers: this.peers,
      locator,
      search: new MemberSearch(open.clock, this.peers),
      recallWakeup: async (name) => wakeups.find(name),
      logReaches: async (sequence) => events.reaches(sequence),
    };
  }

  override view({ metrics }: ServerContext): MembershipView {
    const viewed = { workerSet: this.#workerSet, own: metrics, status: () => this.status() };
    return { exposition: processMetrics(viewed), routes: processRoutes(viewed) };
  }

  override apiCalls(context: ServerContext): ApiCalls {
    return this.#isCoordinator
      ? super.apiCalls(context)
      : callsAtCoordinator(context, this.peers, this.#workerSet);
  }

  override provision(context: ServerContext): Provision {
    return this.#isCoordinator
      ? super.provision(context)
      : provisionAtCoordinator(context, this.peers, this.#workerSet);
  }

  override async open(context: ServerContext): Promise<void> {
    const { records, directory, readiness, telemetry, watch, own } = context;
    this.#records.follow(new SlotReconciler({ directory, telemetry, peers: this.peers }));
    followLoggedSessions(records.events, watch);
    if (this.#isCoordinator) {
      readiness.include(() => missingProcesses(this.#workerSet));
      this.#workerSet.onChange(() => this.#workerSet.isStopping && readiness.set('draining'));
    }
    const status = () => this.status();
    // Calls are all the coordinator's.
    const takeCalls = () => ({ kind: 'absent' }) as const;
    await this.#workerSet.open(processAnswers(context, { status, calls: own.calls, takeCalls }));
  }

  /** The coordinator hears of a process that is gone, and has taken up what none of them watches. */
  override async recover(): Promise<void> {
    if (!this.#isCoordinator) return;
    this.#losses = new ProcessLosses(this.known, this.#workerSet);
    await this.#losses.endAll();
    this.#losses.follow();
  }

  override async close(): Promise<void> {
    this.#losses?.close();
    await this.#workerSet.close();
  }
}
