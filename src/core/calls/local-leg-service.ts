/**
 * The leg service of the process that has the calls: admission, reports of open legs, and closing legs after a registry change or
 * at a drain. The rules are in leg-admission.ts, the calls in the directory.
 *
 * Path of a message to a leg: directory, pool state of a bridge (connected-bridge.ts), link between the processes (media/link), the
 * leg's place in the relay (media/legs), socket. Between the directory and a device's leg there is nothing. Source:
 * calls-and-media.md, Legs.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { TokenKeys } from '../../protocol/call-token/token-keys.ts';
import type { LegCloseReason, LegRefusal } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import type { CoreDeps } from '../ports/core-deps.ts';
import type {
  AdmissionRefusal,
  BridgeAdmission,
  BroughtBridge,
  BroughtDevice,
  CoreLegService,
  DeviceAdmission,
  OpenBridgeLeg,
  OpenDeviceLeg,
  OpenViewer,
  ViewerAdmission,
  PlacedLeg,
} from '../ports/leg-service.ts';
import type { CallLocator } from '../ports/call-locator.ts';
import { admitBridgeLeg, admitDeviceLeg, BridgeKeys, mayServe, type BridgeRights } from './leg-admission.ts';
import { CallRights } from './call-rights.ts';
import { ConnectedBridge, type ConnectedBridgesDeps } from './connected-bridge.ts';
import { presentState } from './leg-messages.ts';
import { type ViewerTickets, Viewers } from './viewers.ts';

export interface LegServiceDeps extends CoreDeps, Omit<ConnectedBridgesDeps, 'bridges'> {
  readonly tickets: ViewerTickets;
  readonly keys: TokenKeys;
  readonly developmentKeys: readonly string[];
  readonly callLocator: Pick<CallLocator, 'findElsewhere'>;
}

export class LocalLegService implements CoreLegService {
  readonly #deps: LegServiceDeps;
  readonly #bridgeKeys: BridgeKeys;
  readonly #bridges: ConnectedBridgesDeps;
  readonly #viewers = new Viewers();
  readonly #rights: CallRights;
  #isDraining = false;

  constructor(deps: LegServiceDeps) {
    const { directory, pool, telemetry, maxFps } = deps;
    this.#deps = deps;
    this.#bridgeKeys = new BridgeKeys(deps.registry, deps.developmentKeys);
    this.#bridges = { directory, pool, telemetry, maxFps, bridges: new Set() };
    this.#rights = new CallRights(deps);
    directory.follow(this.#rights);
    directory.follow(this.#viewers);
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  admitDevice(token: string): Promise<Result<DeviceAdmission, AdmissionRefusal>> {
    return this.#admit(() => admitDeviceLeg(this.#deps, token));
  }

  admitBridge(key: string, sessionId: string | null): Promise<Result<BridgeAdmission, AdmissionRefusal>> {
    const { directory, callLocator } = this.#deps;
    const deps = { bridgeKeys: this.#bridgeKeys, directory, callLocator };
    return this.#admit(() => admitBridgeLeg(deps, key, sessionId));
  }

  admitViewer(ticket: string): Promise<Result<ViewerAdmission, AdmissionRefusal>> {
    return this.#admit(() => this.#admitViewer(ticket));
  }

  openDeviceLeg({ sessionId, tokenId }: DeviceAdmission, leg: PlacedLeg): OpenDeviceLeg | null {
    if (this.#isDraining) return null;
    const { directory } = this.#deps;
    if (!directory.connectDevice(sessionId, tokenId, leg)) return this.#refuseOpen(sessionId, leg);
    const session = directory.find(sessionId);
    const state = session === null ? null : presentState(session);
    if (state !== null) leg.notify(state);
    return {
      report: (report) => directory.report(sessionId, 'device', leg, report),
      alive: (by) => directory.alive(sessionId, 'device', leg, by),
      disconnected: () => directory.disconnected(sessionId, 'device', leg),
    };
  }

  openBridgeLeg({ keySha256, sessionId }: BridgeAdmission, leg: PlacedLeg): OpenBridgeLeg | null {
    const rights = this.#isDraining ? null : this.#rightsNow(keySha256);
    return rights === null ? null : this.#openBridge(rights, keySha256, sessionId, leg, false);
  }

  /** The token was checked at the first connect; from then on it holds while the session lives. */
  resumeDeviceLeg({ sessionId, deviceId, tokenId }: BroughtDevice, leg: PlacedLeg): OpenDeviceLeg | null {
    if (this.#isDraining) return this.#reject(leg, 'drain');
    const session = this.#deps.directory.find(sessionId);
    if (session?.deviceId !== deviceId) return null;
    return this.openDeviceLeg(
      { sessionId, appId: session.appId, deviceId, tokenId, media: session.media },
      leg,
    );
  }

  resumeBridgeLeg({ keySha256, sessionId }: BroughtBridge, leg: PlacedLeg): OpenBridgeLeg | null {
    if (this.#isDraining) return this.#reject(leg, 'drain');
    const rights = this.#rightsNow(keySha256);
    if (rights === null) return this.#reject(leg, 'revoked');
    return this.#openBridge(rights, keySha256, sessionId, leg, true);
  }

  openViewer({ sessionId }: ViewerAdmission, leg: PlacedLeg): OpenViewer | null {
    if (this.#isDraining || this.#deps.directory.find(sessionId) === null) return null;
    return this.#viewers.open(sessionId, leg);
  }

  /** Applies a change of the registry: closes bridges without rights, and ends calls that may no longer exist. */
  registryChanged(): void {
    try {
      for (const bridge of this.#bridges.bridges) bridge.recheck(this.#bridgeKeys.rightsOf(bridge.keySha256));
    } catch (error) {
      this.#deps.log.error(
        { err: error },
        'bridges: rights not re-checked: registry unreadable; a revoked bridge may stay connected',
      );
    }
    this.#rights.review.begin();
  }

  /** True: a bridge is connected at the media process, idle or in a call. */
  hasBridgeAt(process: number): boolean {
    for (const bridge of this.#bridges.bridges) if (bridge.process === process) return true;
    return false;
  }

  counts(): Record<'device' | 'bridge' | 'idle_bridge' | 'viewer', number> {
    const idle = this.#deps.pool.idleCount;
    return {
      device: this.#deps.directory.countDevices(),
      bridge: this.#bridges.bridges.size - idle,
      idle_bridge: idle,
      viewer: this.#viewers.count,
    };
  }

  /** Closes all legs and admits no more; the calls stay for the next process. */
  drain(): void {
    this.#isDraining = true;
    for (const bridge of this.#bridges.bridges) if (bridge.isIdle) bridge.close('drain');
    this.#viewers.drain();
    this.#deps.directory.drain();
  }

  close(): void {
    this.#rights.review.stop();
  }

  /** `isResumed`: the bridge has received its start already, which is not sent again. */
  #openBridge(
    rights: BridgeRights,
    keySha256: string,
    sessionId: SessionId | null,
    leg: PlacedLeg,
    isResumed: boolean,
  ): OpenBridgeLeg | null {
    const bridge = new ConnectedBridge(this.#bridges, keySha256, leg);
    if (sessionId === null) {
      bridge.standIdle(rights);
      return bridge;
    }
    const session = this.#deps.directory.find(sessionId);
    const isAssigned =
      session !== null &&
      mayServe(rights, session.appId) &&
      (isResumed ? bridge.resume(session) : bridge.startCall(session));
    if (isAssigned) return bridge;
    bridge.disconnected();
    return this.#refuseOpen(sessionId, leg);
  }

  #reject(leg: PlacedLeg, reason: LegCloseReason): null {
    leg.close(reason);
    return null;
  }

  /** The call has ended, or a bridge moved it to another media process after the leg was admitted. */
  #refuseOpen(sessionId: SessionId, leg: PlacedLeg): null {
    const process = this.#deps.directory.processOf(sessionId);
    if (process !== null && process !== leg.process) leg.close('moved');
    return null;
  }

  async #admit<Admission>(
    judge: () => Result<Admission, AdmissionRefusal> | Promise<Result<Admission, AdmissionRefusal>>,
  ): Promise<Result<Admission, AdmissionRefusal>> {
    if (this.#isDraining) return fail('unavailable');
    try {
      return await judge();
    } catch (error) {
      this.#deps.log.error({ err: error }, 'media leg: not admitted: registry unreadable');
      return fail('unavailable');
    }
  }

  #admitViewer(ticket: string): Result<ViewerAdmission, LegRefusal> {
    const sessionId = this.#deps.tickets.redeem(ticket);
    if (sessionId === null || this.#deps.directory.find(sessionId) === null) return fail('ticket');
    return this.#viewers.hasRoom(sessionId) ? succeed({ sessionId }) : fail('viewers');
  }

  /** Null: revoked, or the registry cannot be read. */
  #rightsNow(keySha256: string): BridgeRights | null {
    try {
      return this.#bridgeKeys.rightsOf(keySha256);
    } catch (error) {
      this.#deps.log.error({ err: error }, 'media leg: not admitted: registry unreadable');
      return null;
    }
  }
}
