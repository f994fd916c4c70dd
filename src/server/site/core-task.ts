/** The messages between the supervisor of a site with edges and its core. Source: scale-out.md, Edges. */
import type { LoopProgress } from '../../lib/loop-progress.ts';
import type { EdgeFacts } from '../../edge/sleep-front.ts';
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
}

export type CoreOrder =
  | { readonly kind: 'reload' }
  | { readonly kind: 'upgrade' }
  /** Sent after every change of one of them. */
  | { readonly kind: 'children'; readonly children: readonly SiteChild[] };

/** A child of the supervisor, as the supervisor knows it. */
export interface SiteChild extends Pick<ChildFacts, 'state' | 'pid' | 'release' | 'restarts'> {
  /** `core`, or the name of an edge or a media process. */
  readonly name: string;
  readonly kind: 'core' | 'edge' | 'media';
}

/** The site as its core's server sees it. */
export interface CoreHandle extends Pick<CoreTask, 'edgeSocket' | 'mediaSockets' | 'isFirst'> {
  /** The supervisor watches the event loop by it. */
  readonly progress: LoopProgress;
  children(): readonly SiteChild[];
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
  readonly report: never;
}
