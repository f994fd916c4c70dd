/**
 * The supervisor of a site: its children are one core, the edges of this machine and its media processes. Each is restarted by
 * itself when it dies; the others go on meanwhile. Source: scale-out.md, Edges.
 */
import { spawn } from 'node:child_process';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { processStopMsMax } from '../../model/limits.ts';
import {
  coreStartMsMax,
  edgeStartMsMax,
  edgeStopMsMax,
  siteRestartMsMax,
  siteRestartMsMin,
} from './site-limits.ts';
import { forkOf, nodeCommand, type ChildFork } from '../children/child-fork.ts';
import { ChildLife } from '../children/child-life.ts';
import { SupervisedChild, type ChildFacts } from '../children/child.ts';
import { startEdgeChild } from '../children/edge-child.ts';
import { startSiteMedia } from '../children/media-child.ts';
import { MediaChildren } from '../children/media-children.ts';
import type { EdgeChildKind } from '../../edge/process/child-kind.ts';
import { edgeSleepSettings } from '../config/derived-settings.ts';
import { hasOwnListener, listenerNames, type Settings } from '../config/settings-schema.ts';
import type { CoreChildKind, CoreTask, SiteChild } from './core-task.ts';
import { edgeSocketPath, mediaSocketPaths, removeSocket } from './edge-socket.ts';

export interface SiteSupervisorDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly dataDirectory: string;
  /** Behind those of Node: the program and its arguments. */
  readonly coreArguments: readonly string[];
}

interface SiteParts extends SiteSupervisorDeps {
  readonly edgeSocket: string;
  readonly mediaSockets: readonly string[];
  readonly changed: () => void;
}

export class SiteSupervisor {
  readonly #core: SupervisedChild<CoreChildKind>;
  readonly #edges: ReadonlyMap<string, SupervisedChild<EdgeChildKind>>;
  /** Null: this machine has none, or others start them. */
  readonly #media: MediaChildren<ChildFork> | null;
  readonly #sockets: readonly string[];
  readonly #coreStopMsMax: number;

  /** `settings`: with real ports. */
  constructor(settings: Settings, deps: SiteSupervisorDeps) {
    const { sleep, signal } = settings;
    this.#coreStopMsMax = Math.max(sleep.drain_deadline_ms, signal.drain_deadline_ms) + processStopMsMax;
    const edgeSocket = edgeSocketPath(deps.dataDirectory);
    const mediaSockets = mediaSocketPaths(
      edgeSocket,
      hasOwnListener(settings, 'media') ? settings.media.processes : 0,
    );
    this.#sockets = [edgeSocket, ...mediaSockets];
    const parts = { ...deps, edgeSocket, mediaSockets, changed: () => this.#reportChildren() };
    this.#core = superviseCore(settings, parts);
    const names = Array.from({ length: sleep.edges }, (_, number) => `edge-${number}`);
    this.#edges = new Map(names.map((name) => [name, superviseEdge(settings, name, parts)]));
    this.#media = mediaSockets.length === 0 ? null : superviseMedia(settings, parts);
  }

  /** Resolves when the core serves and every edge accepts; rejects, with a sentence for the operator, when one cannot start. */
  async start(): Promise<void> {
    try {
      const media = this.#media === null ? [] : [this.#media];
      await Promise.all([this.#core, ...this.#edges.values(), ...media].map((child) => child.start()));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  orderCore(order: CoreChildKind['order']): void {
    this.#core.order(order);
  }

  /** The core ends its sessions and calls over the links to the others, so these end behind it. */
  async stop(): Promise<void> {
    await this.#core.stop(this.#coreStopMsMax);
    const edges = [...this.#edges.values()].map((edge) => edge.stop(edgeStopMsMax));
    await Promise.all([...edges, this.#media?.stop(() => Promise.resolve())]);
    for (const path of this.#sockets) removeSocket(path);
  }

  /** At once. */
  close(): void {
    for (const child of [this.#core, ...this.#edges.values()]) child.close();
    this.#media?.close();
  }

  #reportChildren(): void {
    const edges = [...this.#edges].map(([name, { facts }]) => siteChild(name, 'edge', facts));
    const media = this.#media?.facts() ?? [];
    const children = [
      siteChild('core', 'core', this.#core.facts),
      ...edges,
      ...media.map((facts, process) => siteChild(`media-${process}`, 'media', facts)),
    ];
    this.#core.order({ kind: 'children', children });
  }
}

function siteChild(
  name: string,
  kind: SiteChild['kind'],
  { state, pid, release, restarts }: ChildFacts,
): SiteChild {
  return { name, kind, state, pid, release, restarts };
}

const restartMs = { min: siteRestartMsMin, max: siteRestartMsMax };

function superviseCore(settings: Settings, parts: SiteParts): SupervisedChild<CoreChildKind> {
  const { clock, log, edgeSocket, mediaSockets, coreArguments, changed } = parts;
  const name = 'core';
  const listeners = Object.fromEntries(
    listenerNames.map((listener) => [listener, settings[listener].listen]),
  ) as CoreTask['listeners'];
  return new SupervisedChild<CoreChildKind>({
    clock,
    log,
    name,
    fields: {},
    restartMs,
    changed,
    launch: () => new ChildLife(startCore(coreArguments), { clock, name, startMsMax: coreStartMsMax }),
    task: (_life, last) => ({ listeners, edgeSocket, mediaSockets, isFirst: last === null }),
  });
}

function superviseEdge(settings: Settings, edge: string, parts: SiteParts): SupervisedChild<EdgeChildKind> {
  const { clock, log, edgeSocket, changed } = parts;
  const name = 'edge';
  const sleep = edgeSleepSettings(settings);
  return new SupervisedChild<EdgeChildKind>({
    clock,
    log,
    name,
    fields: { edge },
    restartMs,
    changed,
    launch: () => new ChildLife(startEdgeChild(), { clock, name, startMsMax: edgeStartMsMax }),
    task: () => ({ name: edge, sleep, corePath: edgeSocket }),
  });
}

function superviseMedia(settings: Settings, parts: SiteParts): MediaChildren<ChildFork> {
  const { clock, log, mediaSockets, changed } = parts;
  return new MediaChildren(settings, {
    clock,
    log,
    launch: startSiteMedia,
    task: (process, own) => ({ ...own, corePath: mediaSockets[process] ?? null }),
    changed,
  });
}

/** The same program, with the same settings and outputs. Throws when the machine has no process to give. */
function startCore(coreArguments: readonly string[]): ChildFork {
  const command = nodeCommand([...process.execArgv, ...coreArguments]);
  // The last one is the stream to its supervisor.
  return forkOf(spawn(...command, { stdio: ['ignore', 'inherit', 'inherit', 'ignore', 'pipe'] }));
}
