/** Messages between the supervisor of a site with edges and its core. Source: scale-out.md, Edges. */
import type { LoopProgress } from '../../lib/loop-progress.ts';
import type { EdgeFacts } from '../../edge/sleep-front.ts';
import type { HoldingApi } from '../bootstrap/holding-api.ts';
import type { Result } from '../../lib/result.ts';
import type { ChildLife } from '../children/child-life.ts';
import type { ChildFacts } from '../children/child.ts';
import type { RealListeners } from '../config/derived-settings.ts';

export interface CoreTask {
  /** Listen addresses with real ports, the same for edges and later cores. */
  readonly listeners: RealListeners;
  /** Unix socket or named pipe on which the core accepts edges of this machine. */
  readonly edgeSocket: string;
  /** As above, for the media processes of its supervisor, by their numbers. */
  readonly mediaSockets: readonly string[];
  /** False: a previous core has served, and edges hold its sessions. */
  readonly isFirst: boolean;
  /** Reason of the previous start if it failed; already logged. Null: it succeeded. */
  readonly failure: string | null;
  /** True: another core serves. This one reports `prepared` and waits for orders. */
  readonly isSuccessor: boolean;
}

/** Compatibility: a core may receive orders of a later release. Keep them, or change `childVersion`. */
export type CoreOrder =
  | { readonly kind: 'reload' }
  /** SIGUSR2: the core records it in its audit log, and reports `upgrade`. */
  | { readonly kind: 'upgrade' }
  /** Sent after every change of a child. */
  | { readonly kind: 'children'; readonly children: readonly SiteChild[] }
  | { readonly kind: 'upgrade-state'; readonly state: UpgradeState }
  /** To the serving core, which answers `left` once it has closed signal sessions and idle HTTP connections. It still serves. */
  | { readonly kind: 'leave' }
  /** Its successor has failed: reverts `leave`. */
  | { readonly kind: 'stay' }
  /** Answers pending requests, closes the store and ends. */
  | { readonly kind: 'hand-over' }
  /** To the successor, which answers `listening` and queues new requests. */
  | { readonly kind: 'listen' }
  /** To the successor: the previous core has ended. */
  | { readonly kind: 'serve' };

export type CoreReport =
  /** Requested by an operator. `edges`: replace the edges too. */
  | { readonly kind: 'upgrade'; readonly edges: boolean }
  | { readonly kind: 'prepared'; readonly facts: SuccessorFacts }
  | { readonly kind: 'left' }
  | { readonly kind: 'listening' };

/** Facts that decide if a core can replace another. */
export interface SuccessorFacts {
  readonly storeFormat: number;
  /** Absolute path. */
  readonly dataDirectory: string;
  /** Supported versions of the link to edges. */
  readonly edgeLinks: readonly number[];
  /** Supported versions of the link to media processes. */
  readonly mediaLinks: readonly number[];
}

export interface UpgradeState {
  readonly isUnderWay: boolean;
  /** Sentence about the last upgrade if it failed; null: it succeeded. */
  readonly failure: string | null;
}

export interface UpgradeControl {
  /** Returns at once; fails with a sentence for the operator. `edges`: replace the edges too. */
  begin(edges: boolean): Result<undefined, string>;
  readonly state: UpgradeState;
}

/** The supervisor's view of a child. */
export interface SiteChild extends ChildFacts {
  /** `core`, or the name of an edge or a media process. */
  readonly name: string;
  readonly kind: 'core' | 'edge' | 'media';
}

/** The site as seen by the core's server. */
export interface CoreHandle extends Pick<CoreTask, 'edgeSocket' | 'mediaSockets' | 'isFirst'> {
  /** The supervisor uses it to watch the event loop. */
  readonly progress: LoopProgress;
  children(): readonly SiteChild[];
  readonly upgrade: UpgradeControl;
  /** An API port that already listens and queues requests; null: the server opens one. */
  readonly holding: HoldingApi | null;
}

/** The core's view of the other processes of its site. */
export interface CoreSite {
  edges(): readonly EdgeFacts[];
  children(): readonly SiteChild[];
}

/** The core as a child of the supervisor. */
export interface CoreChildKind {
  readonly task: CoreTask;
  readonly ready: object;
  readonly order: CoreOrder;
  readonly report: CoreReport;
}

export type CoreLife = ChildLife<CoreChildKind>;
