/**
 * Assembles the media process: workers, relay and listener, behind the leg service of the link. It lives as long as its link. Source:
 * calls-and-media.md, The media process.
 */
import { type Clock, completesWithin, nextTurn } from '../../lib/clock.ts';
import { deferred } from '../../lib/deferred.ts';
import { messageOf } from '../../lib/result.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { descriptorsReserved, mediaDrainMsMax } from '../../model/limits.ts';
import type { MediaAddress, MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import { MediaListener } from '../legs/listener.ts';
import type { MediaEnd } from '../link/media-end.ts';
import type { Log } from '../../lib/log.ts';
import type { NewTranscoders } from '../transcoding/transcoder-pool.ts';
import { Relay } from '../relay/relay.ts';
import { openRtcPeers } from '../webrtc/peer-set.ts';

export interface MediaServerDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly end: MediaEnd;
  readonly newTranscoders: (settings: MediaProcessSettings) => NewTranscoders;
}

export interface RunningMediaServer {
  readonly address: MediaAddress;
  /** Reloads the certificate. Returns the reason to keep the current one; null: it was replaced. */
  reloadTls(): string | null;
  /** Accepts no more connections. Resolves when the closed legs have ended, or after a timeout. */
  drain(): Promise<void>;
  /** Stops the workers between two frames, and closes everything left. */
  close(): Promise<void>;
}

/**
 * Resolves when it listens; legs wait until the engine is loaded. Rejects if it cannot listen; the error is a sentence for the
 * operator.
 */
export async function startMediaServer(
  settings: MediaProcessSettings,
  { clock, log, end, newTranscoders }: MediaServerDeps,
): Promise<RunningMediaServer> {
  const { service, telemetry } = end;
  const { legs, webrtc, maxFps } = settings;
  const transcoders = newTranscoders(settings);
  const loaded = deferred();
  const socketsMax = boundSessions(Infinity, readOpenFilesLimit(), descriptorsReserved);
  const rtcPeers = await openRtcPeers(webrtc, legs, () => listener.address.port, clock);
  const relay = new Relay({ clock, transcoders, telemetry, maxFps });
  if (rtcPeers.missing !== null) log.info({}, rtcPeers.missing);
  const deps = { clock, service, telemetry, log, relay, rtcPeers, socketsMax, loaded: loaded.promise };
  const listener = new MediaListener(legs, deps);
  await listener.listen();
  const load = async (): Promise<void> => {
    // The server learns first that this process listens.
    await nextTurn();
    await transcoders.start();
    loaded.resolve();
    end.loaded();
  };
  const server: RunningMediaServer = {
    address: listener.address,
    reloadTls() {
      try {
        listener.reloadTls();
        return null;
      } catch (error) {
        return messageOf(error);
      }
    },
    async drain() {
      await completesWithin(clock, mediaDrainMsMax, listener.drain());
    },
    async close() {
      listener.close();
      rtcPeers.close();
      await loaded.promise;
      await transcoders.close();
    },
  };
  end.ready(server.address, {
    ...server,
    advertise: settings.advertise,
    view: (sessionId) => relay.view(sessionId),
    counts: () => ({
      legs: listener.legCount,
      sockets: listener.socketCount,
      sessions: relay.sessionCount,
      workers: transcoders.workers(),
      engine: transcoders.engine,
      soundEncoders: transcoders.soundEncoders,
      certificate: listener.fingerprint,
    }),
  });
  void load();
  return server;
}
