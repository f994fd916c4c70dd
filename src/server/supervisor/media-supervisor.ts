/**
 * Keeps a media process as a child: starts it, and starts it again when it dies, at first without waiting and on the
 * same port, so that the calls it carried find it where it was. Its legs are gone with its link; nothing else is.
 * Source: calls-and-media.md, The media process.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import { settlesWithin } from '../../lib/settles-within.ts';
import { mediaRestartMsMax, mediaRestartMsMin, mediaStopMsMax } from '../../model/limits.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import type { Log } from '../../core/ports/log.ts';
import type { MediaCarrier } from './media-child.ts';
import type { MediaConnection } from '../bootstrap/media-connection.ts';
import type { MediaSpare } from './media-spare.ts';

export interface MediaSupervisorDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly connection: MediaConnection;
  readonly settings: MediaProcessSettings;
  readonly startCarrier: () => MediaCarrier;
  /** Null: none waits. */
  readonly spare: MediaSpare | null;
}

/** One that lived so long died of something else than its start. */
const soundMs = 5000;

export class MediaSupervisor {
  readonly #deps: MediaSupervisorDeps;
  #carrier: MediaCarrier | null = null;
  #port: number;
  /** Of its link; null: none, or the child hung up, whose last words tell why. */
  #linkFault: string | null = null;
  /** In a row, each soon after its start. */
  #quickDeaths = 0;
  #isStopping = false;
  #cancelRestart: Cancel = () => undefined;

  constructor(deps: MediaSupervisorDeps) {
    this.#deps = deps;
    this.#port = deps.settings.legs.port;
  }

  /** Resolves when it listens; rejects, with a sentence for the operator, when it cannot. */
  async start(): Promise<void> {
    const { clock, connection, settings, startCarrier, spare, log } = this.#deps;
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
    log.info({ pid: carrier.pid, port: this.#port, start_ms: startMs }, 'the media process is up');
    if (!this.#isStopping) spare?.prepare();
    void carrier.ended.then((how) => this.#lost(carrier, how, startedMs));
  }

  /** Once the legs have been told to go: resolves when it is gone. */
  async stop(): Promise<void> {
    this.#startNoMore();
    const carrier = this.#carrier;
    if (carrier === null) return;
    const { clock, connection, log } = this.#deps;
    const ending = connection.drain().then(() => carrier.ended);
    if (await settlesWithin(clock, mediaStopMsMax, ending)) return;
    log.warn({ pid: carrier.pid }, 'the media process does not stop by itself and is killed');
    carrier.kill();
    await carrier.ended;
  }

  close(): void {
    this.#startNoMore();
    this.#carrier?.kill();
  }

  #startNoMore(): void {
    this.#isStopping = true;
    this.#cancelRestart();
    this.#deps.spare?.close();
  }

  #lost({ pid }: MediaCarrier, how: string, startedMs: number): void {
    this.#carrier = null;
    if (this.#isStopping) return;
    const { clock, log } = this.#deps;
    const livedMs = Math.round(clock.monotonicMs() - startedMs);
    this.#quickDeaths = livedMs >= soundMs ? 0 : this.#quickDeaths + 1;
    const waitMs = restartMs(this.#quickDeaths);
    const why = this.#linkFault ?? how;
    const fields = { pid, why, how, lived_ms: livedMs, restart_ms: waitMs };
    log.error(fields, 'the media process died; it is started again');
    this.#startAfter(waitMs);
  }

  #startAfter(waitMs: number): void {
    const { clock, log } = this.#deps;
    const again = (): void => {
      this.start().catch((error: unknown) => {
        if (this.#isStopping) return;
        this.#quickDeaths += 1;
        const nextMs = restartMs(this.#quickDeaths);
        log.error({ err: error, restart_ms: nextMs }, 'the media process cannot be started');
        this.#startAfter(nextMs);
      });
    };
    if (waitMs === 0) again();
    else this.#cancelRestart = clock.after(waitMs, again);
  }
}

/** Of one that died once there is no wait: calls wait for it. */
function restartMs(quickDeaths: number): number {
  return quickDeaths <= 1 ? 0 : Math.min(mediaRestartMsMin * 2 ** (quickDeaths - 2), mediaRestartMsMax);
}

function notStarted(why: string, cause: unknown): Error {
  return new Error(`the media process does not start: ${why}`, { cause });
}
