/**
 * The supervisor of a site: its children are one core, the edges of this machine and its media processes. A child that dies is restarted;
 * the others keep running. Source: scale-out.md, Edges.
 */
import { processStopMsMax } from '../../model/limits.ts';
import type { ChildFork } from '../children/child-fork.ts';
import type { SupervisedChild } from '../children/child.ts';
import type { MediaChildren } from '../children/media-children.ts';
import type { EdgeChildKind } from '../../edge/process/child-kind.ts';
import { hasOwnListener, type Settings } from '../config/settings-schema.ts';
import type { CoreChildKind, SiteChild } from './core-task.ts';
import { CoreUpgrade } from './core-upgrade.ts';
import { edgeSocketPath, mediaSocketPaths, removeSocket } from './edge-socket.ts';
import {
  coreLife,
  coreTask,
  spareCore,
  startCore,
  superviseCore,
  superviseEdge,
  superviseMedia,
  type SiteDeps,
  type SiteParts,
} from './site-children.ts';
import { edgeStopMsMax, keptConnectionMs } from './site-limits.ts';
import { SiteUpgrade } from './site-upgrade.ts';
import type { SpareCore } from './spare-core.ts';

export class SiteSupervisor {
  readonly #settings: Settings;
  readonly #parts: SiteParts;
  readonly #core: SupervisedChild<CoreChildKind>;
  readonly #spareCore: SpareCore;
  /** By name. */
  readonly #edges = new Map<string, SupervisedChild<EdgeChildKind>>();
  /** Null: no media processes, or started elsewhere. */
  readonly #media: MediaChildren<ChildFork> | null;
  readonly #upgrade: SiteUpgrade;
  #isStopping = false;
  /** Null: no start is in progress. */
  #refuseStart: ((error: Error) => void) | null = null;

  constructor(settings: Settings, deps: SiteDeps) {
    this.#settings = settings;
    const edgeSocket = edgeSocketPath(deps.dataDirectory);
    const mediaSockets = mediaSocketPaths(
      edgeSocket,
      hasOwnListener(settings, 'media') ? settings.media.processes : 0,
    );
    this.#parts = {
      ...deps,
      edgeSocket,
      mediaSockets,
      edgeDied: (why) => this.#edgeDied(why),
      changed: () => this.#reportChildren(),
      reported: (report) => this.#upgrade.report(report),
    };
    this.#spareCore = spareCore(deps);
    this.#core = superviseCore(settings, this.#parts, this.#spareCore);
    for (let number = 0; number < settings.sleep.edges; number += 1) this.#addEdge();
    this.#media = mediaSockets.length === 0 ? null : superviseMedia(settings, this.#parts);
    this.#upgrade = new SiteUpgrade({
      log: deps.log,
      upgradeCore: () => this.#coreUpgrade(),
      replaceEdges: () => this.#replaceEdges(),
      changed: () => this.#reportUpgrade(),
    });
  }

  /** Resolves when the core is ready and every edge accepts; rejects with a sentence for the operator when one cannot start. */
  async start(): Promise<void> {
    const refused = new Promise<never>((_resolve, reject) => (this.#refuseStart = reject));
    try {
      const media = this.#media === null ? [] : [this.#media];
      const started = [this.#core, ...this.#edges.values(), ...media].map((child) => child.start());
      await Promise.race([Promise.all(started), refused]);
    } catch (error) {
      this.close();
      throw error;
    } finally {
      this.#refuseStart = null;
    }
  }

  orderCore(order: CoreChildKind['order']): void {
    this.#core.order(order);
  }

  /** Stops the core first: it needs the links to the others to end sessions and calls. */
  async stop(): Promise<void> {
    const { sleep, signal } = this.#settings;
    this.#isStopping = true;
    this.#spareCore.close();
    await this.#upgrade.giveUp();
    await this.#core.stop(Math.max(sleep.drain_deadline_ms, signal.drain_deadline_ms) + processStopMsMax);
    const edges = [...this.#edges.values()].map((edge) => edge.stop(edgeStopMsMax));
    await Promise.all([...edges, this.#media?.stop(() => Promise.resolve())]);
    const { edgeSocket, mediaSockets } = this.#parts;
    for (const path of [edgeSocket, ...mediaSockets]) removeSocket(path);
  }

  /** Ends all children at once. */
  close(): void {
    this.#spareCore.close();
    for (const child of [this.#core, ...this.#edges.values()]) child.close();
    this.#media?.close();
  }

  #coreUpgrade(): CoreUpgrade {
    const { clock, log, dataDirectory, coreArguments, reported } = this.#parts;
    return new CoreUpgrade({
      clock,
      log,
      core: this.#core,
      spare: this.#spareCore,
      dataDirectory,
      leaveMsMax: keptConnectionMs + this.#settings.signal.drain_deadline_ms + processStopMsMax,
      sharesPorts: process.platform !== 'win32',
      task: coreTask(this.#settings, this.#parts, { isFirst: false, isSuccessor: true, failure: null }),
      launch: () => coreLife(startCore(coreArguments, true), clock),
      reported,
    });
  }

  async #replaceEdges(): Promise<void> {
    const { drain_deadline_ms: drainMs } = this.#settings.sleep;
    const before = Array.from(this.#edges);
    for (const [name, edge] of before) {
      if (this.#isStopping) return;
      const [nextName, next] = this.#addEdge();
      try {
        await next.start();
      } catch (error) {
        this.#edges.delete(nextName);
        throw error;
      }
      await edge.stop(drainMs + processStopMsMax);
      this.#edges.delete(name);
      this.#reportChildren();
    }
  }

  /** Uses the first free name. */
  #addEdge(): [name: string, edge: SupervisedChild<EdgeChildKind>] {
    let number = 0;
    while (this.#edges.has(`edge-${number}`)) number += 1;
    const name = `edge-${number}`;
    const edge = superviseEdge(this.#settings, name, this.#parts);
    this.#edges.set(name, edge);
    return [name, edge];
  }

  #reportUpgrade(): void {
    this.#core.order({ kind: 'upgrade-state', state: this.#upgrade.state });
  }

  /** During the start, an edge that cannot listen ends the start: it would be restarted forever, and the core would wait for it. */
  #edgeDied(why: string): void {
    if (this.#refuseStart === null) return;
    this.close();
    this.#refuseStart(new Error(`the edge does not start: ${why}`));
  }

  #reportChildren(): void {
    const children: SiteChild[] = [{ name: 'core', kind: 'core', ...this.#core.facts }];
    for (const [name, { facts }] of this.#edges) children.push({ name, kind: 'edge', ...facts });
    for (const [process, facts] of this.#media?.facts().entries() ?? [])
      children.push({ name: `media-${process}`, kind: 'media', ...facts });
    this.#core.order({ kind: 'children', children });
    // A core that has just started does not know the state.
    this.#reportUpgrade();
  }
}
