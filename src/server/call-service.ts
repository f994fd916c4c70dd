/**
 * Calls as the server has them: the live sessions, the bridges that wait for them, the desk where legs ask, and the
 * media listener before it. Composed before anything listens; `resume` comes before the API is asked, `listen` after.
 */
import type { Cancel, Clock } from '../base/clock.ts';
import { BridgePool } from '../actor/bridge-pool.ts';
import { CallDirectory } from '../actor/call-directory.ts';
import type { TokenKeys } from '../call-token/token-keys.ts';
import { MediaListener } from '../media-legs/listener.ts';
import { Desk } from '../operations/call-desk.ts';
import { ViewerTickets } from '../operations/viewer-tickets.ts';
import type { AdminRoute } from '../ops/admin-route.ts';
import type { CallRecords } from '../ports/call-records.ts';
import type { Log } from '../ports/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { callRoutes } from './call-routes.ts';
import { mediaOrigin } from './media-origin.ts';
import { mediaLegsSettings } from './room-settings.ts';
import type { Settings } from './settings-schema.ts';

export interface CallServiceParts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly registry: RegistryReader;
  readonly records: CallRecords;
  readonly keys: TokenKeys;
  /** Descriptors that other listeners hold. */
  otherSockets(): number;
}

export class CallService {
  readonly directory: CallDirectory;
  readonly bridges: BridgePool;
  readonly keys: TokenKeys;
  readonly desk: Desk;
  readonly media: MediaListener;
  readonly routes: readonly AdminRoute[];
  readonly #log: Log;
  #stopTurning: Cancel = () => undefined;

  /** Throws when TLS is asked for and its files are not in order. */
  constructor(parts: CallServiceParts) {
    const { settings, clock, keys, log } = parts;
    this.#log = log;
    this.keys = keys;
    this.directory = new CallDirectory(parts);
    this.bridges = new BridgePool({ ...parts, directory: this.directory, assign: settings.calls.assign });
    this.directory.follow(this.bridges);
    const tickets = new ViewerTickets(clock);
    this.desk = new Desk({
      ...parts,
      directory: this.directory,
      pool: this.bridges,
      tickets,
      developmentKeys: settings.media.bridge_keys,
      maxFps: settings.media.max_fps,
    });
    this.media = new MediaListener(mediaLegsSettings(settings), { ...parts, desk: this.desk });
    this.routes = callRoutes({
      clock,
      calls: this.directory,
      tickets,
      mediaOrigin: () => mediaOrigin(settings, this.media.address),
    });
  }

  /** Takes up the calls that the last stop left, and ends those forbidden since. Throws when the store cannot be read. */
  resume(): void {
    const calls = this.directory.resume();
    this.bridges.resume();
    this.#stopTurning = this.directory.start();
    this.desk.registryChanged();
    if (calls > 0) this.#log.info({ calls }, 'calls that were live are taken up again');
  }

  /** Closes every leg in order; the calls stay in the store for the next start. */
  drain(): void {
    this.media.drain();
    this.desk.drain();
  }

  close(): void {
    this.#stopTurning();
    this.media.close();
  }
}
