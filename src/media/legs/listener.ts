/**
 * The media listener: accepts connections, admits legs and drains at the end. It counts the legs; each leg handles its own messages, and
 * the leg service ends calls. Source: calls-and-media.md, Legs; running.md, Stopping.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { deferred } from '../../lib/deferred.ts';
import { BoundedServer } from '../../lib/connections/bounded-server.ts';
import { Crowd } from '../../lib/connections/crowd.ts';
import {
  handshakeSocketsReserved,
  legRequestBytesMax,
  legRequestMsMax,
  legSilenceMsMax,
  legsOfOwnerPart,
} from '../../model/limits.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import type { LegService } from '../../core/ports/leg-service.ts';
import type { Log } from '../../lib/log.ts';
import { Throttle } from '../../lib/throttle.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import { UpgradeHandler } from './upgrade-handler.ts';
import type { LegOwner, MediaListenerContext, LegRelay } from './listener-context.ts';
import { RtcEndpoint } from './rtc-endpoint.ts';
import type { RtcPeers, RtcTrouble } from '../webrtc/rtc-peer.ts';
import { answerOf, refusalOfFault } from './refusal.ts';
import { UpgradeRequest } from './upgrade-request.ts';

export type MediaLegsSettings = MediaProcessSettings['legs'];

/** A leg is pinged at one heartbeat, and must have answered by the next. */
const heartbeatMs = legSilenceMsMax / 2;
const troubles: Readonly<Record<RtcTrouble, string>> = {
  flood: 'media leg: closed for exceeding a rate limit',
  unmade: 'WebRTC: connection not established',
};

export interface MediaListenerDeps {
  readonly clock: Clock;
  readonly service: LegService;
  readonly relay: LegRelay;
  readonly rtcPeers: RtcPeers;
  readonly telemetry: MediaTelemetry;
  readonly log: Log;
  readonly socketsMax: number;
  /** Resolves when the engine is loaded: whether a leg can be carried is not known before. */
  readonly loaded: Promise<void>;
}

export class MediaListener {
  readonly #settings: MediaLegsSettings;
  readonly #deps: MediaListenerDeps;
  readonly #server: BoundedServer;
  readonly #context: MediaListenerContext;
  #isOpen = true;
  readonly #drained = deferred();
  #stopHeartbeats: Cancel = () => undefined;
  #isHeartbeatDue = false;
  readonly #reports: Readonly<Record<'timeout' | RtcTrouble, Throttle>>;

  /** Throws if TLS is configured and its files are invalid. */
  constructor(settings: MediaLegsSettings, deps: MediaListenerDeps) {
    this.#settings = settings;
    this.#deps = deps;
    const report = (): Throttle => new Throttle(deps.clock);
    this.#reports = { timeout: report(), flood: report(), unmade: report() };
    this.#context = {
      clock: deps.clock,
      relay: deps.relay,
      legs: new Crowd(),
      rtcLegs: new Crowd(),
      idleBridges: new Crowd(),
      leaving: new Set(),
      rtcLegLeft: () => this.#checkDrained(),
      report: (trouble, fault) => this.#report(trouble, fault),
    };
    const upgradeHandler = new UpgradeHandler({
      ...deps,
      proved: (request) => this.#server.proved(request.request.socket),
      context: this.#context,
      rtc: new RtcEndpoint(settings.rtc, {
        peers: deps.rtcPeers,
        clock: deps.clock,
        isPerAddress: settings.handshakesPerAddressMax > 0,
        awaitReports: () => deps.service.flush(),
      }),
      checksMax: settings.handshakesMax,
      mayHaveRoom: () => this.#hasRoom() || (this.#isOpen && this.#context.idleBridges.size > 0),
      makeRoom: (owner, isIdle) => this.#makeRoom(owner, isIdle),
      reportTimeout: () => this.#reportTimeout(),
    });
    this.#server = new BoundedServer(
      deps.clock,
      {
        tls: settings.tls,
        headBytesMax: legRequestBytesMax,
        requestMsMax: legRequestMsMax,
        keepAliveMs: 0,
        // The receiver of a stream sends nothing.
        tcpProbeMs: legSilenceMsMax,
        perAddressMax: settings.handshakesPerAddressMax,
        max: () => (this.#isCrowded(handshakeSocketsReserved) ? 0 : settings.handshakesMax),
      },
      {
        requested: (request, response) => upgradeHandler.handle(UpgradeRequest.plain(request, response)),
        upgrading: (request, head) => upgradeHandler.handle(UpgradeRequest.upgrading(request, head)),
        answerOf: (fault) => answerOf(refusalOfFault(fault)),
        closed: () => this.#checkDrained(),
        failed: (error) => deps.log.error({ error: error.message }, 'media listener: server error'),
      },
    );
  }

  /** Resolves when it accepts connections; rejects if the address is unavailable or in use. */
  async listen(): Promise<void> {
    const { host, port } = this.#settings;
    await this.#server.listen(host, port);
    this.#stopHeartbeats = this.#deps.clock.every(heartbeatMs, () => this.#heartbeat());
  }

  /** The actual port, also if port 0 was configured; 0 while it does not listen. */
  get address(): { readonly host: string; readonly port: number } {
    return { host: this.#settings.host, port: this.#server.port };
  }

  /** SHA-256 of its certificate; null: it accepts plain connections. */
  get fingerprint(): string | null {
    return this.#server.fingerprint;
  }

  get legCount(): number {
    return this.#context.legs.size + this.#context.rtcLegs.size;
  }

  /** Open descriptors, including those of peers that have not sent a request yet or are leaving. */
  get socketCount(): number {
    return this.#server.connectionCount;
  }

  /** Reloads the certificate from its files, for new connections. Throws, and changes nothing, if they are invalid. */
  reloadTls(): void {
    this.#server.reloadTls();
  }

  /** Accepts no more connections and opens no more legs; the leg service closes the legs. Resolves when they have ended. */
  drain(): Promise<void> {
    this.#isOpen = false;
    this.#server.stopListening();
    this.#checkDrained();
    return this.#drained.promise;
  }

  close(): void {
    void this.drain();
    this.#stopHeartbeats();
    for (const leg of [...this.#context.legs, ...this.#context.rtcLegs]) leg.drop();
    this.#server.close();
  }

  /** Deferred by a turn: a leg learns of its end after the listener. */
  #checkDrained(): void {
    if (this.#isOpen) return;
    setImmediate(() => {
      if (this.legCount + this.#context.leaving.size === 0) this.#drained.resolve();
    });
  }

  #hasRoom(): boolean {
    return this.#isOpen && this.legCount < this.#settings.legsMax && !this.#isCrowded(0);
  }

  #makeRoom(owner: LegOwner, isIdle: boolean): boolean {
    const { legs, rtcLegs, idleBridges } = this.#context;
    const ownMax = owner === '' ? Infinity : Math.ceil(this.#settings.legsMax * legsOfOwnerPart);
    if (!this.#isOpen || legs.countOf(owner) + rtcLegs.countOf(owner) >= ownMax) return false;
    if (this.#hasRoom()) return true;
    // Idle legs stay within their grace period forever, so an idle bridge never evicts an equal.
    if (isIdle)
      return idleBridges.makeRoom(owner, 0, { max: 0, perAddressMax: 0 }, (evicted) => evicted.evict());
    const evicted = idleBridges.evict();
    evicted?.evict();
    return evicted !== null;
  }

  /** More descriptors are open than allowed, plus `spare`. */
  #isCrowded(spare: number): boolean {
    const { socketsMax, rtcPeers } = this.#deps;
    return this.socketCount + rtcPeers.count > socketsMax + spare;
  }

  /** Deferred by a turn: bytes that arrived while the process was stopped are read before any leg is considered dead. */
  #heartbeat(): void {
    if (this.#isHeartbeatDue) return;
    this.#isHeartbeatDue = true;
    setImmediate(() => {
      this.#isHeartbeatDue = false;
      for (const leg of [...this.#context.legs, ...this.#context.rtcLegs]) leg.heartbeat();
    });
  }

  #reportTimeout(): void {
    if (!this.#reports.timeout.pass()) return;
    this.#deps.log.error(
      {},
      'media listener: admission timed out: the server did not answer; leg refused with 503',
    );
  }

  #report(trouble: RtcTrouble, fault: string): void {
    if (this.#reports[trouble].pass()) this.#deps.log.warn({ fault }, troubles[trouble]);
  }
}
