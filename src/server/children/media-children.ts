/**
 * Media processes as children of a supervisor, in the number of the settings. A child is restarted on the same port, so that its calls
 * find it again; other children are not affected. Source: calls-and-media.md, The media process.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { mediaRestartMsMax, mediaRestartMsMin, mediaStartMsMax, mediaStopMsMax } from '../../model/limits.ts';
import type { MediaChildKind, MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import { mediaChildSettings } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import type { ChildFork } from './child-fork.ts';
import { ChildLife } from './child-life.ts';
import { SupervisedChild, type ChildFacts } from './child.ts';

export type MediaLife<Fork extends ChildFork> = ChildLife<MediaChildKind, Fork>;

export interface MediaChildrenDeps<Fork extends ChildFork> extends Pick<CoreDeps, 'clock' | 'log'> {
  /** Throws when the process could not be created. */
  readonly launch: () => Fork;
  /** Task of the process with this number. */
  readonly task: (
    process: number,
    settings: MediaProcessSettings,
    life: MediaLife<Fork>,
  ) => MediaChildKind['task'];
  /** Called when the facts of a process change. */
  readonly changed?: () => void;
}

const name = 'media process';

export class MediaChildren<Fork extends ChildFork> {
  readonly #children: readonly SupervisedChild<MediaChildKind, Fork>[];

  constructor(settings: Settings, deps: MediaChildrenDeps<Fork>) {
    this.#children = Array.from({ length: settings.media.processes }, (_, process) =>
      supervise(mediaChildSettings(settings, process), process, deps),
    );
  }

  /** Indexed by the numbers of the processes. */
  facts(): readonly ChildFacts[] {
    return this.#children.map(({ facts }) => facts);
  }

  /** Resolves when all are ready. If one cannot listen, all are ended, and it rejects with a sentence for the operator. */
  async start(): Promise<void> {
    try {
      await Promise.all(this.#children.map((child) => child.start()));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** `drain`: closes the legs of the process with this number. Resolves when all have ended. */
  async stop(drain: (process: number) => Promise<void>): Promise<void> {
    await Promise.all(
      this.#children.map((child, process) => child.stop(mediaStopMsMax, () => drain(process))),
    );
  }

  close(): void {
    for (const child of this.#children) child.close();
  }
}

function supervise<Fork extends ChildFork>(
  settings: MediaProcessSettings,
  process: number,
  { clock, log, launch, task, changed }: MediaChildrenDeps<Fork>,
): SupervisedChild<MediaChildKind, Fork> {
  return new SupervisedChild({
    clock,
    log,
    name,
    fields: { media_process: process },
    restartMs: { min: mediaRestartMsMin, max: mediaRestartMsMax },
    launch: () => new ChildLife<MediaChildKind, Fork>(launch(), { clock, name, startMsMax: mediaStartMsMax }),
    task: (life, last) => task(process, { ...settings, legs: { ...settings.legs, ...last } }, life),
    changed: () => changed?.(),
  });
}
