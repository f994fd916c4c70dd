/** The messages between the supervisor of a site with edges and its core. Source: scale-out.md, Edges. */
import type { LoopProgress } from '../../lib/loop-progress.ts';
import type { EdgeFacts } from '../../edge/sleep-front.ts';
import type { HoldingApi } from '../bootstrap/holding-api.ts';
import type { Result } from '../../lib/result.ts';
import type { ChildLife } from '../children/child-life.ts';
import type { ChildFacts } from '../children/child.ts';
import type { RealListeners } from '../config/derived-settings.ts';

export interface CoreTask {
  /** With real ports: edges listen on them, too, and later cores. */
  readonly listeners: RealListeners;
  /** The Unix socket or named pipe on which the core accepts edges of this machine. */
  readonly edgeSocket: string;
  /** The same of the media processes of its supervisor, by their numbers. */
  readonly mediaSockets: readonly string[];
  /** False: a core has served before, and edges hold its sessions. */
  readonly isFirst: boolean;
  /** Sentence of the start before this one, which failed: the log has it; null: it did not. */
  readonly failure: string | null;
  /** True: another core serves. This one reports `prepared`, and waits for orders. */
  readonly isSuccessor: boolean;
}

/** Orders that a core meets of a later release have to stay, or `childVersion` changes. */
export type CoreOrder =
  | { readonly kind: 'reload' }
  /** SIGUSR2: the core records it in its audit log, and reports `upgrade`. */
  | { readonly kind: 'upgrade' }
  /** Sent after every change of one of them. */
  | { readonly kind: 'children'; readonly children: readonly SiteChild[] }
  | { readonly kind: 'upgrade-state'; readonly state: UpgradeState }
  /** To the core that serves, which answers with `left`: it closes signal sessions and kept HTTP connections, and serves. */
  | { readonly kind: 'leave' }
  /** Its successor is gone: the core serves as before. */
  | { readonly kind: 'stay' }
  /** Answers requests under way, closes the store and ends. */
  | { readonly kind: 'hand-over' }
  /** To its successor, which answers with `listening`: it holds the requests that come. */
  | { readonly kind: 'listen' }
  /** The core before it has ended. */
  | { readonly kind: 'serve' };

export type CoreReport =
  /** An operator asks for it. `edges`: they are replaced as well. */
  | { readonly kind: 'upgrade'; readonly edges: boolean }
  | { readonly kind: 'prepared'; readonly facts: SuccessorFacts }
  | { readonly kind: 'left' }
  | { readonly kind: 'listening' };

/** A core that could serve in place of another one. */
export interface SuccessorFacts {
  readonly storeFormat: number;
  /** Absolute. */
  readonly dataDirectory: string;
  /** Versions of the link to an edge that it speaks. */
  readonly edgeLinks: readonly number[];
  /** The same of a media process. */
  readonly mediaLinks: readonly number[];
}

export interface UpgradeState {
  readonly isUnderWay: boolean;
  /** Reason of the last one to fail: a sentence; null: it did not. */
  readonly failure: string | null;
}

/** Upgrades, as operators ask for them. */
export interface UpgradeControl {
  /** Returns at once; fails with a sentence for the operator. `edges`: they are replaced as well. */
  begin(edges: boolean): Result<undefined, string>;
  readonly state: UpgradeState;
}

/** A child of the supervisor, as the supervisor knows it. */
export interface SiteChild extends Pick<ChildFacts, 'state' | 'pid' | 'release' | 'restarts' | 'sinceMs'> {
  /** `core`, or the name of an edge or a media process. */
  readonly name: string;
  readonly kind: 'core' | 'edge' | 'media';
}

/** The site as its core's server sees it. */
export interface CoreHandle extends Pick<CoreTask, 'edgeSocket' | 'mediaSockets' | 'isFirst'> {
  /** The supervisor watches the event loop by it. */
  readonly progress: LoopProgress;
  children(): readonly SiteChild[];
  readonly upgrade: UpgradeControl;
  /** The port of the API, which listens already and holds requests; null: the server opens it. */
  readonly holding: HoldingApi | null;
}

/** The other processes of a site, as its core knows them. */
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
