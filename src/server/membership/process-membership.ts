/** One process of several of a machine, as its server has it: the coordinator or a worker. Source: cluster.md, Several processes on one machine. */
import type { Clock } from '../../lib/clock.ts';
import { followLoggedSessions } from '../../core/wakeups/log-followers.ts';
import { MeasuredPeers } from '../../cluster/ipc/measured-peers.ts';
import { SlotReconciler } from '../../cluster/ownership/slot-reconciler.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { ConnectionRecords } from '../../core/ports/connection-records.ts';
import type { Log } from '../../core/ports/log.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { SharedStoreDeps } from '../bootstrap/records.ts';
import type { OpenContext, ServerContext } from '../bootstrap/server-context.ts';
import { AloneMember, type Member, type Membership, type MembershipView } from './membership.ts';
import { callsAtCoordinator, processAnswers } from '../supervisor/process-answers.ts';
import { WorkerSet, type WorkerHandle } from '../supervisor/worker-set.ts';
import { ProcessLosses } from '../supervisor/process-losses.ts';
import type { ProcessRole } from '../supervisor/process-messages.ts';
import { missingProcesses, processMetrics, processRoutes } from '../supervisor/process-view.ts';

export class ProcessMembership implements Membership {
  readonly role: ProcessRole;
  readonly outboxOf = null;
  readonly shared: SharedStoreDeps;
  readonly #workerSet: WorkerSet;

  /** `node`: its name in events. */
  constructor(
    handle: WorkerHandle,
    node: string,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    this.role = handle.task.role;
    this.#workerSet = new WorkerSet(handle, { clock, log });
    this.shared = this.#workerSet.shared(node);
  }

  claimed(records: ConnectionRecords): ConnectionRecords {
    return records;
  }

  join(open: OpenContext): Member {
    return new ProcessMember(open, this.#workerSet);
  }

  async hangUp(): Promise<void> {}
}

class ProcessMember extends AloneMember {
  override readonly cluster: ClusterDeps;
  readonly #workerSet: WorkerSet;
  readonly #isCoordinator: boolean;
  /** Null: nobody's are looked for yet. */
  #losses: ProcessLosses | null = null;

  constructor(open: OpenContext, workerSet: WorkerSet) {
    const { role, member, process } = workerSet.handle.task;
    super(open, { member, process, startedAtMs: open.clock.wallMs() });
    const { locator, wakeups, events } = open.records;
    this.#workerSet = workerSet;
    this.#isCoordinator = role === 'coordinator';
    this.cluster = {
      peers: new MeasuredPeers(workerSet.peers, open),
      locator,
      recallWakeup: (appId, requestId) => Promise.resolve(wakeups.find(appId, requestId)),
      logReaches: async (sequence) => events.reaches(sequence),
    };
  }

  override view({ metrics }: ServerContext): MembershipView {
    const viewed = { workerSet: this.#workerSet, own: metrics, status: () => this.status() };
    return { exposition: processMetrics(viewed), routes: processRoutes(viewed) };
  }

  override apiCalls(context: ServerContext): ApiCalls {
    return this.#isCoordinator
      ? this.ownCalls
      : callsAtCoordinator(context, this.cluster.peers, this.#workerSet);
  }

  override async open(context: ServerContext): Promise<void> {
    const { records, directory, readiness, telemetry, watch, own } = context;
    records.followSlots(new SlotReconciler({ directory, telemetry, peers: this.cluster.peers }));
    followLoggedSessions(records.events, watch);
    if (this.#isCoordinator) {
      readiness.include(() => missingProcesses(this.#workerSet));
      this.#workerSet.onChange(() => this.#workerSet.isStopping && readiness.set('draining'));
    }
    const status = () => this.status();
    await this.#workerSet.open(processAnswers(context, { status, calls: own.calls }));
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
