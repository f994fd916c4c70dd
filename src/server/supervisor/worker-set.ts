/**
 * A process among the others of its server: how it reaches them, and which of them live, as the supervisor says.
 * Source: cluster.md, Several processes on one machine.
 */
import type { BoundSocket } from '../../lib/bound-sockets.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { SleepCounts, SleepSockets } from '../../edge/sleep-sockets.ts';
import type { LoopProgress } from '../../lib/loop-progress.ts';
import { HeartbeatFile, HeartbeatFiles } from '../../cluster/ipc/heartbeat-files.ts';
import { UnixPeers } from '../../cluster/ipc/unix-peers.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { Log } from '../../lib/log.ts';
import type { PeerHost, Peers } from '../../core/ports/peers.ts';
import type { SharedHeartbeats } from '../../core/ports/session-locator.ts';
import type {
  UpgradeState,
  WorkerSetState,
  ProcessFacts,
  ProcessReport,
  ProcessTask,
} from './process-messages.ts';

/** A port whose sockets the supervisor lends. */
export interface LentPort {
  readonly sockets: Pick<SleepSockets, 'borrow' | 'giveBack'>;
  readonly counts: SleepCounts;
}

/** The other processes, however they are reached. */
export type ProcessPeers = Peers & Pick<UnixPeers, 'listen' | 'members' | 'socketOf' | 'leave' | 'close'>;

/** What this process has in common with the others of its machine, beside their store. */
export interface Machine {
  /** `host` answers the others. */
  joinPeers(host: PeerHost): ProcessPeers;
  /** Of the other processes' sessions. */
  readonly heartbeats: SharedHeartbeats & { close(): void };
  /** Those of this process's, for the others. Throws when they cannot be shown. */
  openHeartbeats(): Pick<HeartbeatFile, 'start' | 'close'>;
}

/** By sockets and files in the directory that only the processes of one server can enter. */
export function ownMachine(
  { task }: WorkerHandle,
  deps: { readonly clock: Clock; readonly log: Log },
): Machine {
  const { member: self, socketDirectory: directory } = task;
  return {
    joinPeers: (host) => new UnixPeers({ ...deps, self, directory, host }),
    heartbeats: new HeartbeatFiles(directory, self),
    openHeartbeats: () => new HeartbeatFile(directory, self, deps),
  };
}

/** One process, as its supervisor has made it. */
export interface WorkerHandle {
  readonly task: ProcessTask;
  /** Whenever it changes, and now. One follows. */
  follow(changed: (workerSet: WorkerSetState) => void): void;
  report(report: ProcessReport): void;
  /** Of all processes. */
  upgrade(): UpgradeState;
  /** The sleep port, for the supervisor's orders. */
  sleepPort(port: LentPort): void;
  /** The socket that the supervisor has bound to the signal port, for all workers. */
  signalSocket(): Promise<BoundSocket>;
  /** The supervisor is to see its progress. */
  followProgress(progress: LoopProgress): void;
}

export class WorkerSet {
  readonly handle: WorkerHandle;
  readonly peers: ProcessPeers;
  readonly #clock: Clock;
  #facts: Pick<WorkerSetState, 'processes' | 'isStopping'> = { processes: [], isStopping: false };
  #host: PeerHost | null = null;
  readonly #followers: (() => void)[] = [];
  #lastCoordinator: MemberId | null = null;
  readonly #waitingForCoordinator = new Set<(coordinator: MemberId | null) => void>();

  constructor(handle: WorkerHandle, machine: Pick<Machine, 'joinPeers'>, clock: Clock) {
    this.handle = handle;
    this.#clock = clock;
    const host: PeerHost = {
      answer: (question) => this.#hostThere.answer(question),
      heard: (notice, from) => this.#host?.heard(notice, from),
    };
    this.peers = machine.joinPeers(host);
    handle.follow((workerSet) => this.#changed(workerSet));
  }

  /** All processes, by the supervisor's latest word. */
  get processes(): readonly ProcessFacts[] {
    return this.#facts.processes;
  }

  /** Those that live, this one among them. */
  get members(): readonly MemberId[] {
    return this.processes.flatMap(({ member }) => (member === null ? [] : [member]));
  }

  get isStopping(): boolean {
    return this.#facts.isStopping;
  }

  /** Resolves when others can reach it; `host` answers them. */
  async open(host: PeerHost): Promise<void> {
    this.#host = host;
    await this.peers.listen();
    for (const changed of this.#followers) changed();
  }

  /** Calls `changed` whenever a process comes, changes its state or goes. */
  onChange(changed: () => void): void {
    this.#followers.push(changed);
  }

  /** A member that will not come back. */
  isGone(member: MemberId): boolean {
    return !this.members.includes(member);
  }

  /** Null: there was none yet. */
  get lastCoordinator(): MemberId | null {
    return this.#lastCoordinator;
  }

  /** Null: none is up within `waitMs`. */
  async coordinator(waitMs: number): Promise<MemberId | null> {
    return this.#coordinatorNow ?? this.#nextCoordinator(waitMs);
  }

  get #hostThere(): PeerHost {
    if (this.#host === null) throw new Error('nobody can ask before it is open');
    return this.#host;
  }

  get #coordinatorNow(): MemberId | null {
    return this.processes.find(({ role, state }) => role === 'coordinator' && state === 'up')?.member ?? null;
  }

  #nextCoordinator(waitMs: number): Promise<MemberId | null> {
    return new Promise((resolve) => {
      let giveUp: Cancel = () => undefined;
      const settle = (coordinator: MemberId | null): void => {
        giveUp();
        this.#waitingForCoordinator.delete(settle);
        resolve(coordinator);
      };
      giveUp = this.#clock.after(waitMs, () => settle(null));
      this.#waitingForCoordinator.add(settle);
    });
  }

  #changed(facts: WorkerSetState): void {
    this.#facts = facts;
    this.peers.members(this.members.map((member) => ({ member, socket: this.peers.socketOf(member) })));
    const coordinator = this.#coordinatorNow;
    this.#lastCoordinator = coordinator ?? this.#lastCoordinator;
    if (coordinator !== null)
      for (const settle of Array.from(this.#waitingForCoordinator)) settle(coordinator);
    for (const changed of this.#followers) changed();
  }
}
