/**
 * The media processes of a server, by its settings: children, some elsewhere that connect to the gate, or none. A child is
 * started again when it dies, at first without waiting and on the same port, so that the calls it carried find it where
 * it was. Its legs are gone with its link; nothing else is, and no other child notices. One spare waits for all. Source: calls-and-media.md, The media process.
 */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import { Restarts } from '../../lib/restarts.ts';
import {
  mediaRestartMsMax,
  mediaRestartMsMin,
  mediaSpareDelayMs,
  mediaStopMsMax,
} from '../../model/limits.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import type { Log } from '../../lib/log.ts';
import type { MediaConnection } from '../bootstrap/media-connection.ts';
import { MediaGate, type MediaGateDeps } from '../bootstrap/media-gate.ts';
import { mediaChildSettings } from '../config/derived-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { endOrKill, soundLifeMs, Spare } from './child.ts';
import type { MediaCarrier } from './media-child.ts';

export interface MediaSupply {
  /** Resolves when there is a media process, or one may connect; rejects, with a sentence for the operator, when none can. */
  start(): Promise<void>;
  /** Once the legs have been told to go: resolves when it is gone. */
  stop(): Promise<void>;
  /** At once, whatever it does. */
  close(): void;
}

interface MediaSupervisorDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly connection: MediaConnection;
  readonly settings: MediaProcessSettings;
  readonly startCarrier: () => MediaCarrier;
  /** A process that waits beside those that serve; null: none does. */
  readonly spare: Spare<MediaCarrier> | null;
}

export interface MediaSupplyDeps
  extends Omit<MediaSupervisorDeps, 'settings' | 'startCarrier' | 'spare' | 'connection'>, MediaGateDeps {
  readonly startMedia: () => MediaCarrier;
}

export function mediaSupply(settings: Settings, deps: MediaSupplyDeps): MediaSupply {
  const { process, spare, link_listen: address, link_key_file: keyFile } = settings.media;
  if (process === 'child') {
    return new MediaChildren(settings, deps, spare ? mediaSpare(deps) : null);
  }
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

class MediaChildren implements MediaSupply {
  readonly #children: readonly MediaSupervisor[];
  readonly #spare: Spare<MediaCarrier> | null;

  constructor(settings: Settings, deps: MediaSupplyDeps, spare: Spare<MediaCarrier> | null) {
    const { connections, startMedia } = deps;
    this.#spare = spare;
    this.#children = connections.map((connection) => {
      const own = mediaChildSettings(settings, connection.process);
      return new MediaSupervisor({ ...deps, connection, spare, startCarrier: startMedia, settings: own });
    });
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

class MediaSupervisor implements MediaSupply {
  readonly #deps: MediaSupervisorDeps;
  readonly #restarts: Restarts;
  #carrier: MediaCarrier | null = null;
  #port: number;
  /** Of its link; null: none, or the child hung up, whose last words tell why. */
  #linkFault: string | null = null;
  #isStopping = false;

  constructor(deps: MediaSupervisorDeps) {
    this.#deps = deps;
    this.#port = deps.settings.legs.port;
    const [msMin, msMax] = [mediaRestartMsMin, mediaRestartMsMax];
    // After one death there is no wait: calls wait for it.
    this.#restarts = new Restarts(deps.clock, { immediate: 1, msMin, msMax });
  }

  /** Resolves when it listens; rejects, with a sentence for the operator, when it cannot. */
  async start(): Promise<void> {
    const { clock, connection, settings, spare, startCarrier, log } = this.#deps;
    const { process } = connection;
    this.#linkFault = null;
    const startedMs = clock.monotonicMs();
    const carrier = spare?.take() ?? startCarrier();
    this.#carrier = carrier;
    const legs = { ...settings.legs, port: this.#port };
    const listening = connection.attach(carrier.link, { ...settings, legs }, (fault) => {
      this.#linkFault = fault;
      // It may hang in native code; without its link it is nothing.
      carrier.kill();
    });
    try {
      this.#port = (await listening).port;
    } catch (error) {
      const isGone = !connection.isTaken;
      carrier.kill();
      const how = await carrier.ended;
      this.#carrier = null;
      throw notStarted(isGone ? how : messageOf(error), error);
    }
    const startMs = Math.round(clock.monotonicMs() - startedMs);
    log.info(
      { media_process: process, pid: carrier.pid, port: this.#port, start_ms: startMs },
      'the media process is up',
    );
    if (!this.#isStopping) spare?.prepare();
    void carrier.ended.then((how) => this.#lost(carrier, how, startedMs));
  }

  /** Once the legs have been told to go: resolves when it is gone. */
  async stop(): Promise<void> {
    this.#startNoMore();
    const carrier = this.#carrier;
    if (carrier === null) return;
    const { clock, connection, log } = this.#deps;
    await endOrKill(carrier, {
      clock,
      msMax: mediaStopMsMax,
      ending: connection.drain().then(() => carrier.ended),
      overdue: () =>
        log.warn({ pid: carrier.pid }, 'the media process does not stop by itself and is killed'),
    });
  }

  close(): void {
    this.#startNoMore();
    this.#carrier?.kill();
  }

  #startNoMore(): void {
    this.#isStopping = true;
    this.#restarts.stop();
  }

  #lost({ pid }: MediaCarrier, how: string, startedMs: number): void {
    this.#carrier = null;
    if (this.#isStopping) return;
    const { clock, connection, log } = this.#deps;
    const { process } = connection;
    const livedMs = Math.round(clock.monotonicMs() - startedMs);
    const waitMs = this.#restarts.died(livedMs >= soundLifeMs);
    const why = this.#linkFault ?? how;
    const fields = { media_process: process, pid, why, how, lived_ms: livedMs, restart_ms: waitMs };
    log.error(fields, 'the media process died; it is started again');
    this.#restarts.startAfter(
      waitMs,
      () => this.start(),
      (error, nextMs) => log.error({ err: error, restart_ms: nextMs }, 'the media process cannot be started'),
    );
  }
}

/** It does nothing until it is sent its settings. */
function mediaSpare({ clock, log, startMedia }: MediaSupplyDeps): Spare<MediaCarrier> {
  return new Spare({
    clock,
    log,
    name: 'media process',
    delayMs: mediaSpareDelayMs,
    start: startMedia,
    onStart: ({ link, pid }, isWaiting) =>
      link.once('readable', () => {
        if (isWaiting()) log.info({ pid }, 'a spare media process waits');
      }),
  });
}

function notStarted(why: string, cause: unknown): Error {
  return new Error(`the media process does not start: ${why}`, { cause });
}
