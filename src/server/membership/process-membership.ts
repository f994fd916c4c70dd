/** One process of several of a machine, as its server has it: the coordinator or a worker. Source: cluster.md, Several processes on one machine. */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import { recallLoggedSessions } from '../../core/wakeups/log-followers.ts';
import { LogGrowth } from '../../cluster/ipc/log-growth.ts';
import type { HeartbeatFile } from '../../cluster/ipc/heartbeat-files.ts';
import { MeasuredPeers } from '../../cluster/ipc/measured-peers.ts';
import { SlotReconciler } from '../../cluster/ownership/slot-reconciler.ts';
import { callsHere, type CallLocator } from '../../core/ports/call-locator.ts';
import type { ClusterDeps } from '../../core/devices/locate-device.ts';
import { rowViews, type ConnectivityViews } from '../../core/devices/observe-device.ts';
import type { DeviceDirectory } from '../../core/devices/device-directory.ts';
import { MemberSearch } from '../../core/devices/member-search.ts';
import type { ConnectionRecords } from '../../core/ports/records.ts';
import type { Peers } from '../../core/ports/peers.ts';
import type { Provision } from '../../model/provisioning.ts';
import type { ApiCalls } from '../bootstrap/api.ts';
import type { OpenContext, ServerContext } from '../bootstrap/server-context.ts';
import { AloneMember, type Member, type Membership, type MembershipView } from './membership.ts';
import {
  callsAtCoordinator,
  noCallsHere,
  processAnswers,
  provisionAtCoordinator,
} from '../supervisor/process-answers.ts';
import { WorkerSet, type Machine, type WorkerHandle } from '../supervisor/worker-set.ts';
import { ProcessLosses, missingProcesses, processMetrics, processRoutes } from '../supervisor/coordinator.ts';
import type { ProcessRole } from '../supervisor/process-messages.ts';
import type { RecordStore } from '../../storage/journal/committer.ts';
import { SharedRecords } from '../../storage/journal/shared-records.ts';
import type { StateTables } from '../../storage/lmdb/state-tables.ts';

export class ProcessMembership implements Membership {
  readonly role: ProcessRole;
  readonly watcher: MemberId;
  readonly countsEvents: boolean;
  readonly heartbeats: Machine['heartbeats'];
  readonly #machine: Machine;
  readonly #workerSet: WorkerSet;
  readonly #growth: LogGrowth;
  /** Null: its store is not open yet. */
  #records: SharedRecords | null = null;

  constructor(handle: WorkerHandle, machine: Machine, clock: Clock) {
    const { role, member } = handle.task;
    this.role = role;
    this.watcher = member;
    this.heartbeats = machine.heartbeats;
    this.#machine = machine;
    this.countsEvents = role === 'coordinator';
    this.#workerSet = new WorkerSet(handle, machine, clock);
    this.#growth = new LogGrowth(this.#workerSet.peers, clock);
  }

  openRecordStore(state: StateTables, node: string): RecordStore {
    const grew = (events: readonly LoggedEvent[]): void => this.#growth.grew(events);
    return (this.#records = new SharedRecords(state, { member: this.watcher, node, grew }));
  }

  claimed(records: ConnectionRecords): ConnectionRecords {
    return records;
  }

  join(open: OpenContext): Member {
    assert(this.#records !== null, 'its store is open');
    this.#workerSet.handle.followProgress(open.progress);
    this.#growth.open(open.records.events);
    return new ProcessMember(open, this.#workerSet, {
      machine: this.#machine,
      records: this.#records,
      growth: this.#growth,
    });
  }

  async hangUp(): Promise<void> {
    this.heartbeats.close();
  }
}

/** What this process and the others have in common. */
interface SharedParts {
  readonly machine: Machine;
  readonly records: SharedRecords;
  readonly growth: LogGrowth;
}

class ProcessMember extends AloneMember {
  override readonly peers: Peers;
  override readonly views: ConnectivityViews;
  override readonly cluster: ClusterDeps;
  override readonly callLocator: CallLocator;
  readonly #workerSet: WorkerSet;
  readonly #shared: SharedParts;
  readonly #isCoordinator: boolean;
  /** Null: it is not open yet, or has no sessions. */
  #heartbeats: Pick<HeartbeatFile, 'close'> | null = null;
  /** Null: nobody's are looked for yet. */
  #losses: ProcessLosses | null = null;

  constructor(open: OpenContext, workerSet: WorkerSet, shared: SharedParts) {
    const { role, member, process } = workerSet.handle.task;
    super(open, { member, process, startedAtMs: open.clock.wallMs() });
    const { locator, events } = open.records;
    this.#workerSet = workerSet;
    this.#shared = shared;
    this.#isCoordinator = role === 'coordinator';
    this.peers = new MeasuredPeers(workerSet.peers, open);
    this.callLocator = this.#isCoordinator
      ? callsHere
      : callsAtCoordinator(open.clock, this.peers, workerSet);
    this.views = rowViews(member, locator);
    this.cluster = {
      peers: this.peers,
      locator,
      search: new MemberSearch(open.clock, this.peers),
      recallWakeup: () => null,
      logReaches: async (sequence) => events.reaches(sequence),
    };
  }

  override view({ metrics }: ServerContext): MembershipView {
    const viewed = { workerSet: this.#workerSet, own: metrics, status: () => this.status() };
    return { exposition: processMetrics(viewed), routes: processRoutes(viewed) };
  }

  override apiCalls(context: ServerContext): ApiCalls {
    return this.#isCoordinator ? super.apiCalls(context) : noCallsHere(context);
  }

  override provision(context: ServerContext): Provision {
    return this.#isCoordinator
      ? super.provision(context)
      : provisionAtCoordinator(context, this.peers, this.#workerSet);
  }

  override async open(context: ServerContext): Promise<void> {
    const { directory, readiness, telemetry, own } = context;
    const { records, growth } = this.#shared;
    records.follow(new SlotReconciler({ directory, telemetry, peers: this.peers }));
    context.watch.recallBy((deviceId, sinceMs) => recall(context, deviceId, sinceMs));
    if (this.#isCoordinator) {
      readiness.include(() => missingProcesses(this.#workerSet));
      this.#workerSet.onChange(() => this.#workerSet.isStopping && readiness.set('draining'));
    }
    const status = () => this.status();
    // Calls are all the coordinator's.
    if (!this.#isCoordinator) this.#writeHeartbeats(directory);
    await this.#workerSet.open(processAnswers(context, { status, calls: own.calls, growth }));
    // The coordinator before this one may have changed the registry, and not lived to say so.
    if (this.#isCoordinator) this.peers.notify('everybody', { kind: 'registry-changed' });
  }

  /**
   * The coordinator hears of a process that is gone, and has taken up what none of them watches. A worker goes on with what the
   * process before it watched, where it is the same member.
   */
  override async recover({ watch }: ServerContext): Promise<void> {
    if (!this.#isCoordinator) return void watch.resume((watcher) => watcher === this.peers.self);
    this.#losses = new ProcessLosses(this.known, this.#workerSet);
    await this.#losses.endAll();
    this.#losses.follow();
  }

  #writeHeartbeats(directory: DeviceDirectory): void {
    const heartbeats = this.#shared.machine.openHeartbeats();
    heartbeats.start(directory);
    this.#heartbeats = heartbeats;
  }

  override leave(): Promise<void> {
    return this.#workerSet.peers.leave();
  }

  override async close(): Promise<void> {
    await this.#heartbeats?.close();
    this.#losses?.close();
    this.#shared.growth.close();
    await this.#workerSet.peers.leave();
    await this.#workerSet.peers.close();
  }
}

/** Who would have told of a login may be gone. Many wakeups may expire at once: the rows tell whose log is to be read. */
function recall({ records, watch, log }: ServerContext, deviceId: DeviceId, sinceMs: number): void {
  try {
    const { sleep, signal } = records.locator.find(deviceId);
    const latest = Math.max(signal.lastLoginAt ?? 0, sleep.lastOfflineAt ?? 0);
    if ((latest + 1) * 1000 > sinceMs) recallLoggedSessions(records.events, watch, deviceId);
  } catch (error) {
    log.error({ err: error }, 'what the log has of a woken device cannot be read');
  }
}
