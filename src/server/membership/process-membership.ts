/** One process of several of a machine, as its server has it: a keeper or a worker. Source: cluster.md, Several processes on one machine. */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { followLoggedSessions } from '../../core/wakeups/log-followers.ts';
import { SlotReconciler } from '../../cluster/ownership/slot-reconciler.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import type { Log } from '../../core/ports/log.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';
import { memberStatus, type OwnLife } from './member-status.ts';
import type { Membership, MembershipView, OwnServices } from './membership.ts';
import { callsAtCoordinator, processAnswers } from '../supervisor/process-answers.ts';
import { WorkerSet, type WorkerHandle } from '../supervisor/worker-set.ts';
import { ProcessLosses } from '../supervisor/process-losses.ts';
import type { ProcessRole } from '../supervisor/process-messages.ts';
import { missingProcesses, processMetrics, processRoutes } from '../supervisor/process-view.ts';
import type { Records, SharedStoreDeps } from '../bootstrap/records.ts';

export class ProcessMembership implements Membership {
  readonly role: ProcessRole;
  readonly nodes = null;
  readonly shared: SharedStoreDeps;
  readonly #workerSet: WorkerSet;
  readonly #life: OwnLife;
  #losses: ProcessLosses | null = null;

  /** `node`: its name in events. */
  constructor(
    handle: WorkerHandle,
    node: string,
    { clock, log }: { readonly clock: Clock; readonly log: Log },
  ) {
    const { role, member, process } = handle.task;
    this.role = role;
    this.#workerSet = new WorkerSet(handle, { clock, log });
    this.shared = this.#workerSet.shared(node);
    this.#life = { member, process, startedAtMs: clock.wallMs() };
  }

  cluster(records: Records): ClusterDeps {
    const { locator, wakeups, events } = records;
    return {
      peers: this.#workerSet.peers,
      locator,
      recallWakeup: (appId, requestId) => Promise.resolve(wakeups.find(appId, requestId)),
      logReaches: async (sequence) => events.reaches(sequence),
    };
  }

  view(context: ServerContext, parts: () => OwnServices): MembershipView {
    const workerSet = this.#workerSet;
    const status = () => memberStatus(context, this.#life, parts().deviceListeners);
    const viewed = { workerSet, own: context.metrics, status };
    return { exposition: processMetrics(viewed), routes: processRoutes(viewed) };
  }

  callsElsewhere(context: ServerContext): ApiCalls | null {
    return this.role === 'worker' ? callsAtCoordinator(context, this.#workerSet) : null;
  }

  async open(context: ServerContext, { deviceListeners, calls }: OwnServices): Promise<void> {
    const { records, directory, cluster, readiness, telemetry, watch } = context;
    assert(cluster !== null, 'several processes are a cluster');
    records.followSlots(new SlotReconciler({ directory, telemetry, peers: cluster.peers }));
    followLoggedSessions(records.events, watch);
    if (this.role === 'coordinator') {
      readiness.include(() => missingProcesses(this.#workerSet));
      this.#workerSet.onChange(() => this.#workerSet.isStopping && readiness.set('draining'));
    }
    const status = () => memberStatus(context, this.#life, deviceListeners);
    await this.#workerSet.open(processAnswers(context, { status, calls }));
  }

  /** Of a worker that is gone the keeper hears. */
  async endLost(context: ServerContext): Promise<void> {
    if (this.role !== 'coordinator') return;
    this.#losses = new ProcessLosses(context, this.#workerSet);
    await this.#losses.endAll();
    this.#losses.follow();
  }

  async close(): Promise<void> {
    this.#losses?.close();
    await this.#workerSet.close();
  }
}
