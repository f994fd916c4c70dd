/**
 * The call service: live sessions, idle bridges, admission of legs, and media processes. It is composed before anything listens;
 * `resume` comes before the first API request, `listen` after it.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Cancel } from '../../lib/clock.ts';
import { BridgePool } from '../../core/calls/bridge-pool.ts';
import { MediaPlacement } from '../../core/calls/media-placement.ts';
import type { CallDirectory } from '../../core/calls/call-directory.ts';
import { LocalLegService } from '../../core/calls/local-leg-service.ts';
import { CalledDevices } from '../../core/calls/called-devices.ts';
import type { AnsweredWakeups } from '../../core/wakeups/answered-wakeups.ts';
import type { WakeupDeps } from '../../core/wakeups/do-wakeup.ts';
import { ViewerTickets, WatchKeys } from '../../core/calls/viewers.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';
import type { RefusedCredentials } from '../../gateways/ops/refused-credentials.ts';
import type { SessionId } from '../../model/ids.ts';
import type { MediaCapacity } from '../../model/media/media-capacity.ts';
import type { CallLocator } from '../../core/ports/call-locator.ts';
import type { CallRecords } from '../../core/ports/records.ts';
import type { Log } from '../../lib/log.ts';
import type { LoopProgress } from '../../lib/loop-progress.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { callMediaRoutes, callRoutes } from '../../gateways/admin/call-routes.ts';
import { CallPage, type CallPageDeps } from '../../gateways/console/call-page.ts';
import type { PageFiles } from '../../gateways/console/page-files.ts';
import type { LiveTokenKeys } from '../../storage/keys/token-key-file.ts';
import type { MediaCarrier } from '../children/media-child.ts';
import { mediaSupply, type MediaSupply } from '../children/media-supply.ts';
import type { MediaSite } from '../children/media-links.ts';
import { MediaProcesses } from './media-processes.ts';
import type { Settings } from '../config/settings-schema.ts';
import {
  formatListenAddress,
  reachableHere,
  type ListenAddress,
} from '../../lib/connections/listen-address.ts';

export interface CallServiceDeps extends CoreDeps {
  readonly settings: Settings;
  readonly telemetry: Telemetry;
  readonly progress: LoopProgress;
  readonly records: CallRecords;
  readonly tokenKeys: LiveTokenKeys;
  /** Starts a media process. A test runs it in its own process. */
  readonly startMedia: () => MediaCarrier;
  /** Media processes started by the supervisor of this core; null: the server has no supervisor. */
  readonly mediaSite: MediaSite | null;
  readonly callDirectory: CallDirectory;
  /** For a bridge that wakes the device of its call. */
  readonly wakeups: WakeupDeps;
  /** Records refused wakeups of bridges. */
  readonly answeredWakeups: AnsweredWakeups;
  readonly callLocator: CallLocator;
  opsAddress(): ListenAddress;
}

export class CallService {
  readonly directory: CallDirectory;
  readonly bridges: BridgePool;
  readonly keys: LiveTokenKeys['keys'];
  readonly service: LocalLegService;
  readonly mediaProcesses: MediaProcesses;
  readonly media: MediaSupply;
  readonly routes: readonly AdminRoute[];
  readonly #pageDeps: Omit<CallPageDeps, 'files' | 'refusals'>;
  readonly #log: Log;
  #stopTurning: Cancel = () => undefined;

  constructor(deps: CallServiceDeps) {
    const { settings, clock, tokenKeys, log } = deps;
    const { keys } = tokenKeys;
    this.#log = log;
    this.keys = keys;
    this.directory = deps.callDirectory;
    const capacity = (): readonly MediaCapacity[] => this.mediaProcesses.capacity();
    const placement = new MediaPlacement({
      directory: this.directory,
      capacity,
      hasBridgeAt: (process) => this.service.hasBridgeAt(process),
    });
    this.directory.follow(placement);
    const { assign } = settings.calls;
    this.bridges = new BridgePool({ ...deps, directory: this.directory, placement, assign });
    this.directory.follow(this.bridges);
    if (settings.calls.wake_device)
      this.directory.follow(new CalledDevices({ ...deps, directory: this.directory }));
    const tickets = new ViewerTickets(clock);
    this.service = new LocalLegService({
      ...deps,
      keys,
      directory: this.directory,
      pool: this.bridges,
      tickets,
      developmentKeys: settings.media.bridge_keys,
      maxFps: settings.media.max_fps,
    });
    this.mediaProcesses = new MediaProcesses({
      ...deps,
      service: this.service,
      placement,
      pool: this.bridges,
      keys,
    });
    tokenKeys.onChange(() => this.mediaProcesses.keysChanged());
    this.media = mediaSupply(settings, { ...deps, connections: this.mediaProcesses.connections });
    const keysOfPages = new WatchKeys(clock);
    this.directory.follow(keysOfPages);
    const routeDeps = {
      clock,
      calls: this.directory,
      bridges: this.bridges,
      media: this.mediaProcesses,
      tickets,
      pageTickets: new ViewerTickets(clock),
      keys: keysOfPages,
      opsOrigin: () => `http://${formatListenAddress(reachableHere(deps.opsAddress()))}`,
      mediaOrigin: (sessionId: SessionId) => this.mediaProcesses.originOf(sessionId),
      mediaOrigins: () => this.mediaProcesses.origins(),
    };
    this.routes = [...callRoutes(routeDeps), ...callMediaRoutes(routeDeps)];
    this.#pageDeps = routeDeps;
  }

  page(files: PageFiles, refusals: RefusedCredentials): CallPage {
    return new CallPage({ ...this.#pageDeps, files, refusals });
  }

  /** Resumes the calls in the store, and ends those no longer allowed. Throws when the store cannot be read. */
  resume(): void {
    const calls = this.directory.resume();
    if (this.media.whenBrought === undefined) this.bridges.resume();
    else void this.media.whenBrought().then(() => this.bridges.resume());
    this.#stopTurning = this.directory.start();
    this.service.registryChanged();
    if (calls > 0) this.#log.info({ calls }, 'calls: resumed after the restart');
  }

  /** Closes all legs; calls stay in the store for the next start. Resolves when the media process has ended. */
  async drain(): Promise<void> {
    this.service.drain();
    await this.media.stop();
  }

  close(): void {
    this.#stopTurning();
    this.service.close();
    this.media.close();
  }
}
