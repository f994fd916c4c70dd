/** Starts the children of a site: core, edges and media processes. Source: scale-out.md, Edges. */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { spawn } from 'node:child_process';
import type { Clock } from '../../lib/clock.ts';
import { coreStartMsMax, edgeStartMsMax, siteRestartMsMax, siteRestartMsMin } from './site-limits.ts';
import { forkOf, nodeCommand, type ChildFork } from '../children/child-fork.ts';
import { ChildLife } from '../children/child-life.ts';
import { SupervisedChild } from '../children/child.ts';
import { startEdgeChild } from '../children/edge-child.ts';
import { startSiteMedia } from '../children/media-child.ts';
import { MediaChildren } from '../children/media-children.ts';
import type { EdgeChildKind } from '../../edge/process/child-kind.ts';
import { edgeSleepSettings } from '../config/derived-settings.ts';
import { listenerNames, type Settings } from '../config/settings-schema.ts';
import type { CoreChildKind, CoreLife, CoreReport, CoreTask } from './core-task.ts';
import { SpareCore } from './spare-core.ts';

export interface SiteDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly dataDirectory: string;
  /** Program and arguments, after the options of Node. */
  readonly coreArguments: readonly string[];
}

export interface SiteParts extends SiteDeps {
  readonly edgeSocket: string;
  readonly mediaSockets: readonly string[];
  readonly edgeDied: (why: string) => void;
  readonly changed: () => void;
  readonly reported: (report: CoreReport) => void;
}

const restartMs = { min: siteRestartMsMin, max: siteRestartMsMax };

export function spareCore({ clock, log, coreArguments }: SiteDeps): SpareCore {
  return new SpareCore({ clock, log, start: () => coreLife(startCore(coreArguments, false), clock) });
}

export function superviseCore(
  settings: Settings,
  parts: SiteParts,
  spare: SpareCore,
): SupervisedChild<CoreChildKind> {
  const { clock, log, coreArguments, changed, reported } = parts;
  const child: SupervisedChild<CoreChildKind> = new SupervisedChild<CoreChildKind>({
    clock,
    log,
    name: core,
    fields: {},
    restartMs,
    changed: () => {
      if (child.facts.state === 'up') spare.prepare();
      changed();
    },
    reported,
    launch: () => spare.acquire() ?? coreLife(startCore(coreArguments, false), clock),
    task: (_life, last, failure) =>
      coreTask(settings, parts, { isFirst: last === null, isSuccessor: false, failure }),
  });
  return child;
}

const core = 'core';

export function coreLife(fork: ChildFork, clock: Clock): CoreLife {
  return new ChildLife(fork, { clock, name: core, startMsMax: coreStartMsMax });
}

export function coreTask(
  settings: Settings,
  { edgeSocket, mediaSockets }: SiteParts,
  place: Pick<CoreTask, 'isFirst' | 'isSuccessor' | 'failure'>,
): CoreTask {
  const listeners = Object.fromEntries(
    listenerNames.map((listener) => [listener, settings[listener].listen]),
  ) as CoreTask['listeners'];
  return { listeners, edgeSocket, mediaSockets, ...place };
}

export function superviseEdge(
  settings: Settings,
  edge: string,
  parts: SiteParts,
): SupervisedChild<EdgeChildKind> {
  const { clock, log, edgeSocket, edgeDied, changed } = parts;
  const name = 'edge';
  const sleep = edgeSleepSettings(settings);
  return new SupervisedChild<EdgeChildKind>({
    clock,
    log,
    name,
    fields: { edge },
    restartMs,
    died: edgeDied,
    changed,
    launch: () => new ChildLife(startEdgeChild(), { clock, name, startMsMax: edgeStartMsMax }),
    task: () => ({ name: edge, sleep, corePath: edgeSocket }),
  });
}

export function superviseMedia(settings: Settings, parts: SiteParts): MediaChildren<ChildFork> {
  const { clock, log, mediaSockets, changed } = parts;
  return new MediaChildren(settings, {
    clock,
    log,
    launch: startSiteMedia,
    task: (process, own) => ({ ...own, corePath: mediaSockets[process] ?? null }),
    changed,
  });
}

/**
 * Starts the same program with the same settings and outputs. `isSuccessor`: the end of its error output is kept as the reason of a
 * failure. Throws when the process could not be created.
 */
export function startCore(coreArguments: readonly string[], isSuccessor: boolean): ChildFork {
  const command = nodeCommand([...process.execArgv, ...coreArguments]);
  const errors = isSuccessor ? 'pipe' : 'inherit';
  // The last descriptor is the stream to the supervisor.
  const child = spawn(...command, { stdio: ['ignore', 'inherit', errors, 'ignore', 'pipe'] });
  child.stderr?.pipe(process.stderr, { end: false });
  return forkOf(child);
}
