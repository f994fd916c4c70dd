/**
 * The media processes of a server, by its settings: children, some elsewhere that connect to the gate, or none. A child is
 * started again on the same port, so that the calls it carried find it where it was. Its legs are gone with its link; nothing
 * else is, and no other child notices. One spare waits for all. Source: calls-and-media.md, The media process.
 */
import { assert } from '../../lib/assert.ts';
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
import type { MediaConnection } from '../bootstrap/media-connection.ts';
import { MediaGate, type MediaGateDeps } from '../bootstrap/media-gate.ts';
import { mediaChildSettings } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { ChildLife } from './child-life.ts';
import { SupervisedChild } from './child.ts';
import type { MediaCarrier } from './media-child.ts';
import { Spare } from './spare.ts';

export interface MediaSupply {
  /** Resolves when there is a media process, or one may connect; rejects, with a sentence for the operator, when none can. */
  start(): Promise<void>;
  /** Once the legs have been told to go: resolves when it is gone. */
  stop(): Promise<void>;
  /** At once, whatever it does. */
  close(): void;
}

export interface MediaSupplyDeps extends MediaGateDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Throws when the machine has no process to give. */
  readonly startMedia: () => MediaCarrier;
}

export function mediaSupply(settings: Settings, deps: MediaSupplyDeps): MediaSupply {
  const { process, link_listen: address, link_key_file: keyFile } = settings.media;
  if (process === 'child') return new MediaChildren(settings, deps);
  if (process === 'none') return nothing;
  assert(address !== null && keyFile !== null, 'the schema wants both of who waits for a media process');
  return new MediaGate({ address, keyFile }, deps);
}

/** Without a media process calls are issued, and nobody can be let in to them. */
const nothing: MediaSupply = {
  start: () => Promise.resolve(),
  stop: () => Promise.resolve(),
  close: () => undefined,
};

type MediaLife = ChildLife<MediaChildKind, MediaCarrier>;

class MediaChildren implements MediaSupply {
  readonly #children: readonly MediaChild[];
  /** Null: none waits. */
  readonly #spare: Spare<MediaLife> | null;

  constructor(settings: Settings, deps: MediaSupplyDeps) {
    const { clock, log, connections, startMedia } = deps;
    const name = 'media process';
    const start = (): MediaLife => new ChildLife(startMedia(), { clock, name, startMsMax: mediaStartMsMax });
    const onStart = ({ loaded, pid }: MediaLife, isWaiting: () => boolean): void =>
      void loaded.then(() => {
        if (isWaiting()) log.info({ pid }, 'a spare media process waits');
      });
    const spare = { clock, log, name, delayMs: mediaSpareDelayMs, start, onStart };
    this.#spare = settings.media.spare ? new Spare(spare) : null;
    this.#children = connections.map(
      (connection) =>
        new MediaChild(mediaChildSettings(settings, connection.process), connection, {
          clock,
          log,
          launch: () => this.#spare?.take() ?? start(),
          isUp: () => this.#spare?.prepare(),
        }),
    );
  }

  /** If one cannot listen, none goes on. */
  async start(): Promise<void> {
    try {
      await Promise.all(this.#children.map((child) => child.start()));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#spare?.close();
    await Promise.all(this.#children.map((child) => child.stop()));
  }

  close(): void {
    this.#spare?.close();
    for (const child of this.#children) child.close();
  }
}

interface MediaChildDeps {
  readonly clock: Clock;
  readonly log: Log;
  launch(): MediaLife;
  isUp(): void;
}

class MediaChild implements MediaSupply {
  readonly #connection: MediaConnection;
  readonly #child: SupervisedChild<MediaChildKind, MediaCarrier>;
  /** Resolves when legs can come to the present life. */
  #linked: Promise<unknown> = Promise.resolve();

  constructor(settings: MediaProcessSettings, connection: MediaConnection, deps: MediaChildDeps) {
    this.#connection = connection;
    this.#child = new SupervisedChild({
      ...deps,
      name: 'media process',
      fields: { media_process: connection.process },
      restartMs: { min: mediaRestartMsMin, max: mediaRestartMsMax },
      task: (life, last) => {
        const own = { ...settings, legs: { ...settings.legs, ...last } };
        // It may hang in native code; without its link it is nothing.
        this.#linked = connection.attach(life.fork.link, own, (fault) => life.kill(fault));
        this.#linked.catch(() => undefined);
        return own;
      },
      changed: () => {
        if (this.#child.facts.state === 'up') deps.isUp();
      },
    });
  }

  async start(): Promise<void> {
    await this.#child.start();
    await this.#linked;
  }

  stop(): Promise<void> {
    return this.#child.stop(mediaStopMsMax, () => this.#connection.drain());
  }

  close(): void {
    this.#child.close();
  }
}
