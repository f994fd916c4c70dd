/**
 * The roles of server processes, and the messages between the supervisor and its processes, over the channel that Node gives to a child. Nobody else can
 * write there, so nothing of it is checked. Source: cluster.md, Several processes on one machine.
 */
import type { BoundSocket, SocketHandle } from '../../lib/bound-sockets.ts';
import type { SleepCounts, SleepLoan } from '../../edge/sleep-sockets.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { ListenAddress } from '../../lib/connections/listen-address.ts';
import type { ListenerName } from '../config/settings-schema.ts';
import type { SuccessorOrder, SuccessorReport } from '../upgrade/hand-over-messages.ts';
import type { Child } from '../children/spare.ts';

/** Of the messages here: a supervisor meets processes of later releases. Another meaning is another number. */
export const supervisorVersion = 2;

/** `coordinator`: what there is one of on a machine; `worker`: listeners for devices and callers. */
export type ProcessRole = 'coordinator' | 'worker';

/** A server process's part of the server: everything, alone; or its part among several. */
export type ServerRole = 'alone' | ProcessRole;

/** Devices and callers reach it. */
export function hasGateways(role: ServerRole): boolean {
  return role !== 'coordinator';
}

/** It has what there is one of. */
export function hasControlPlane(role: ServerRole): boolean {
  return role !== 'worker';
}

/** The coordinator's number; workers count from 1. */
export const coordinatorNumber = 0;

/** `down`: it died and has not been started again. */
export type ProcessState = 'starting' | 'up' | 'draining' | 'down';

/** One life of one process. */
export interface ProcessTask {
  readonly process: number;
  readonly role: ProcessRole;
  readonly member: MemberId;
  /** Of its supervisor. */
  readonly supervisorVersion: number;
  /** It goes on as the member that another process still is, and takes over what that has. */
  readonly isSuccessor: boolean;
  /** How many there are, when all are up. */
  readonly workers: number;
  /** Of the sockets by which processes reach each other: ours alone. */
  readonly socketDirectory: string;
  /** With real ports: the same for all, and for every life. */
  readonly listeners: Readonly<Record<ListenerName, ListenAddress>>;
}

/** One process, as all of them know it. */
export interface ProcessFacts {
  readonly process: number;
  readonly role: ProcessRole;
  readonly state: ProcessState;
  /** Null: it is down. */
  readonly member: MemberId | null;
  readonly pid: number | null;
  /** How often it had to be started again. */
  readonly restarts: number;
}

export interface UpgradeState {
  readonly isUnderWay: boolean;
  /** Why the last one left this process serving; null: there was none. */
  readonly failure: string | null;
}

/** All processes, the coordinator first. A member that is not among them is gone for good. */
export interface WorkerSetState {
  readonly processes: readonly ProcessFacts[];
  /** All of them are being stopped. */
  readonly isStopping: boolean;
  readonly upgrade: UpgradeState & {
    /** How often one was asked for. */
    readonly asked: number;
  };
}

export type ProcessOrder =
  /** Once, first. */
  | { readonly kind: 'begin'; readonly task: ProcessTask; readonly workerSet: WorkerSetState }
  /** Whenever anything of it changes. */
  | { readonly kind: 'worker-set'; readonly workerSet: WorkerSetState }
  /** To be answered by the same. */
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'reload' }
  /** To the coordinator, which has the audit log: it asks for the upgrade in turn. */
  | { readonly kind: 'upgrade-signalled' }
  /** To a worker that is up: it hands over to a process of the release that is in place now. */
  | { readonly kind: 'hand-over' }
  /** To a process that hands over, of its successor: what that says, how it ended, and that one more order is on its way. */
  | { readonly kind: 'from-successor'; readonly report: SuccessorReport }
  | { readonly kind: 'successor-ended'; readonly how: string }
  | { readonly kind: 'order-passed-on' }
  /** To a successor. A socket goes beside its message. */
  | { readonly kind: 'from-predecessor'; readonly order: SuccessorOrder }
  /** To a worker. The socket goes beside the message. */
  | ({ readonly kind: 'sleep-socket' } & Omit<SleepLoan, 'socket'>)
  /** What it has of those sockets comes back now: there is somebody who has fewer connections. */
  | { readonly kind: 'sleep-sockets-back' }
  /** To a worker that asked for it. The socket goes beside the message. */
  | { readonly kind: 'signal-socket' }
  /** Drain, flush, end. */
  | { readonly kind: 'stop' };

/** A socket of the sleep port that a worker accepts no more from. */
export interface SleepReturn {
  readonly number: number;
  /** Connections that it did not take. */
  readonly unused: number;
}

export type ProcessReport =
  /** First: it listens, and an order before would have been lost. */
  | { readonly kind: 'loaded' }
  /** It serves, at these addresses. */
  | {
      readonly kind: 'ready';
      readonly listeners: Readonly<Partial<Record<ListenerName, string>>>;
      readonly sleep: SleepCounts;
    }
  /** It cannot start, for a reason that is a sentence for the operator. It ends. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'heartbeat'; readonly sleep: SleepCounts }
  /** It accepts from a socket of the sleep port that it was lent. */
  | { readonly kind: 'sleep-socket-taken'; readonly number: number }
  | ({ readonly kind: 'sleep-socket-back'; readonly sleep: SleepCounts } & SleepReturn)
  /** It is about to listen on the signal port. */
  | { readonly kind: 'wants-signal-socket' }
  /** An operator wants the workers to be replaced one after the other; `upgrade`: and the coordinator behind them. */
  | { readonly kind: 'restart-workers' | 'upgrade' }
  /** It was told to hand over: its successor is to be started, or, until that serves, to be ended. */
  | { readonly kind: 'start-successor' | 'end-successor' }
  /** It takes no more connections from the sleep port. */
  | { readonly kind: 'lets-go' }
  /** It goes on: why it has not handed over, as a sentence. */
  | { readonly kind: 'not-handed-over'; readonly reason: string }
  /** To its successor. A socket goes beside it. */
  | { readonly kind: 'to-successor'; readonly order: SuccessorOrder }
  | { readonly kind: 'to-predecessor'; readonly report: SuccessorReport };

/** A process that was started, from the supervisor's side. */
export interface ProcessFork extends Child {
  /** One receiver, from before the first report on. A socket that comes with one is the receiver's to close. */
  onReport(reported: (report: ProcessReport, socket: SocketHandle | null) => void): void;
  /**
   * An order given before it listens reaches it when it does. Nothing happens when it is gone. The socket stays open here, and
   * must until `sent`, which is called when the order is on its way, or its process gone.
   */
  order(order: ProcessOrder, socket?: BoundSocket, sent?: () => void): void;
}
