/**
 * Media processes as children of whoever supervises them: as many as the settings say, and one spare for all. A child is started
 * again on the same port, so that the calls it carried find it where it was; no other child notices. Source:
 * calls-and-media.md, The media process.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import {
  mediaRestartMsMax,
  mediaRestartMsMin,
  mediaSpareDelayMs,
  mediaStartMsMax,
  mediaStopMsMax,
} from '../../model/limits.ts';
import type { MediaChildKind, MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import { mediaChildSettings } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import type { ChildFork } from './child-fork.ts';
import { ChildLife } from './child-life.ts';
import { SupervisedChild, type ChildFacts } from './child.ts';
import { Spare } from './spare.ts';

export type MediaLife<Fork extends ChildFork> = ChildLife<MediaChildKind, Fork>;

export interface MediaChildrenDeps<Fork extends ChildFork> {
  readonly clock: Clock;
  readonly log: Log;
  /** Throws when the machine has no process to give. */
  readonly launch: () => Fork;
  /** The task of the process with this number, whose life has begun. */
  readonly task: (
    process: number,
    settings: MediaProcessSettings,
    life: MediaLife<Fork>,
  ) => MediaChildKind['task'];
  /** Called when the facts of one have changed. */
  readonly changed?: () => void;
}

const name = 'media process';

export class MediaChildren<Fork extends ChildFork> {
  readonly #children: readonly SupervisedChild<MediaChildKind, Fork>[];
  /** Null: none waits. */
  readonly #spare: Spare<MediaLife<Fork>> | null;

  constructor(settings: Settings, deps: MediaChildrenDeps<Fork>) {
    const { clock, log } = deps;
    const start = (): MediaLife<Fork> =>
      new ChildLife(deps.launch(), { clock, name, startMsMax: mediaStartMsMax });
    const onStart = ({ loaded, pid }: MediaLife<Fork>, isWaiting: () => boolean): void =>
      void loaded.then(() => {
        if (isWaiting()) log.info({ pid }, 'a spare media process waits');
      });
    const spare = { clock, log, name, delayMs: mediaSpareDelayMs, start, onStart };
    this.#spare = settings.media.spare ? new Spare(spare) : null;
    this.#children = Array.from({ length: settings.media.processes }, (_, process) =>
      this.#supervise(mediaChildSettings(settings, process), process, start, deps),
    );
  }

  /** By the numbers of the processes. */
  facts(): readonly ChildFacts[] {
    return this.#children.map(({ facts }) => facts);
  }

  /** Resolves when all serve. If one cannot listen, none goes on: rejects with a sentence for the operator. */
  async start(): Promise<void> {
    try {
      await Promise.all(this.#children.map((child) => child.start()));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** `drain`: sends the legs of the process with this number away. Resolves when all are gone. */
  async stop(drain: (process: number) => Promise<void>): Promise<void> {
    this.#spare?.close();
    await Promise.all(
      this.#children.map((child, process) => child.stop(mediaStopMsMax, () => drain(process))),
    );
  }

  close(): void {
    this.#spare?.close();
    for (const child of this.#children) child.close();
  }

  #supervise(
    settings: MediaProcessSettings,
    process: number,
    start: () => MediaLife<Fork>,
    { clock, log, task, changed }: MediaChildrenDeps<Fork>,
  ): SupervisedChild<MediaChildKind, Fork> {
    const child: SupervisedChild<MediaChildKind, Fork> = new SupervisedChild({
      clock,
      log,
      name,
      fields: { media_process: process },
      restartMs: { min: mediaRestartMsMin, max: mediaRestartMsMax },
      launch: () => this.#spare?.take() ?? start(),
      task: (life, last) => task(process, { ...settings, legs: { ...settings.legs, ...last } }, life),
      changed: () => {
        if (child.facts.state === 'up') this.#spare?.prepare();
        changed?.();
      },
    });
    return child;
  }
}
