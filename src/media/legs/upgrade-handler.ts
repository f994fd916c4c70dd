/**
 * Admits requests: asks the leg service, which takes time, and then the relay whether it can carry the leg; the result is a leg or a
 * refusal. Every refusal closes its connection. Source: calls-and-media.md, Legs.
 */
import { type Clock, completesWithin } from '../../lib/clock.ts';
import { fail, type Result } from '../../lib/result.ts';
import type { LegRefusal } from '../../model/call.ts';
import { legAdmissionMsMax } from '../../model/limits.ts';
import type {
  AdmissionRefusal,
  BridgeAdmission,
  CallElsewhere,
  LegService,
  DeviceAdmission,
  ViewerAdmission,
} from '../../core/ports/leg-service.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import { DownlinkLeg, type DownlinkDeps } from './downlink-leg.ts';
import { legOwnerOf, type LegOwner, type MediaListenerContext } from './listener-context.ts';
import { partsForDevices, partsForPeople, type PictureParts } from './picture-parts.ts';
import { isRtcRequest, readLegRequest, type LegRequest, type WatchedPicture } from './leg-request.ts';
import type { UpgradeRequest } from './upgrade-request.ts';
import { RtcDeviceLeg } from './rtc-device-leg.ts';
import type { RtcEndpoint, RtcLeg, RtcOffer } from './rtc-endpoint.ts';
import { RtcViewerLeg } from './rtc-viewer-leg.ts';
import { misdirected, redirected, refusalOf, type HttpRefusal } from './refusal.ts';
import { SocketLeg, type LegSide } from './socket-leg.ts';

export interface UpgradeHandlerDeps {
  readonly clock: Clock;
  readonly service: LegService;
  readonly telemetry: MediaTelemetry;
  readonly context: MediaListenerContext;
  readonly rtc: RtcEndpoint;
  /** Admission requests that may be pending at the leg service. */
  readonly checksMax: number;
  /** The credential is valid, so the request is never evicted for a newcomer. */
  proved(request: UpgradeRequest): void;
  /** There is room for one more leg, or an idle bridge to evict. */
  mayHaveRoom(): boolean;
  /** Makes room for one more leg; an idle bridge does not evict an equal. */
  makeRoom(owner: LegOwner, isIdle: boolean): boolean;
  reportTimeout(): void;
  /** Resolves when the engine is loaded: a request waits for it. */
  readonly loaded: Promise<void>;
}

export class UpgradeHandler {
  readonly #deps: UpgradeHandlerDeps;
  #checks = 0;

  constructor(deps: UpgradeHandlerDeps) {
    this.#deps = deps;
  }

  handle(request: UpgradeRequest): void {
    const isRtc = isRtcRequest(request.request);
    if (!isRtc) request.discardBody();
    const refusal = isRtc ? this.#deps.rtc.begin(request) : null;
    if (refusal !== null) return this.#refuse(request, refusal);
    const asked = readLegRequest(request.request, request.asksForUpgrade);
    if (!asked.ok) this.#refuse(request, asked.error);
    else if (asked.value.kind === 'preflight') this.#deps.rtc.preflight(request, asked.value);
    else if ('resource' in asked.value) void this.#deps.rtc.change(request, asked.value);
    else if (this.#checks >= this.#deps.checksMax || !this.#deps.mayHaveRoom()) this.#refuse(request, 'busy');
    else this.#admitUnlessRefused(request, asked.value);
  }

  /** Without WebRTC, the ticket is not consumed. */
  #admitUnlessRefused(request: UpgradeRequest, asked: LegRequest): void {
    const isOffer = asked.kind === 'whip' || asked.kind === 'whep';
    const refusal = isOffer ? this.#deps.rtc.refusalOf() : null;
    if (refusal === null) void this.#admitOnceLoaded(request, asked);
    else this.#refuse(request, refusal);
  }

  /** A peer that hangs up meanwhile consumes no ticket. */
  async #admitOnceLoaded(request: UpgradeRequest, asked: LegRequest): Promise<void> {
    await this.#deps.loaded;
    if (request.isAsking) await this.#admitByCredential(request, asked);
  }

  #admitByCredential(request: UpgradeRequest, asked: LegRequest): Promise<void> {
    const { service } = this.#deps;
    if ('bridgeKey' in asked)
      return this.#admit(request, service.admitBridge(asked.bridgeKey, asked.sessionId), (admission) =>
        this.#openBridge(request, admission),
      );
    if ('ticket' in asked)
      return this.#admit(request, service.admitViewer(asked.ticket), (admission) => {
        if (asked.kind === 'viewer') this.#openViewer(request, admission, asked.picture);
        else this.#openRtcViewer(request, admission, asked.ticket);
      });
    return this.#admit(
      request,
      service.admitDevice(asked.token),
      (admission) => this.#openDeviceOf(request, asked, admission),
      (call) => (asked.kind === 'whip' ? redirected(call, request.request.url ?? '') : misdirected(call)),
    );
  }

  /** Checks capacity before the current leg is replaced. */
  #openDeviceOf(
    request: UpgradeRequest,
    { kind, token }: Extract<LegRequest, { readonly token: string }>,
    admission: DeviceAdmission,
  ): void {
    const { sessionId, media } = admission;
    const takes = kind === 'downlink' ? 'pictures' : 'frames';
    const refusal = this.#deps.context.relay.refusalOf(sessionId, media, takes);
    if (refusal !== null) this.#refuse(request, refusal);
    else if (kind === 'device') this.#openDevice(request, admission);
    else if (kind === 'downlink') this.#openDownlink(request, admission);
    else this.#openRtcDevice(request, admission, token);
  }

  #openRtcDevice(request: UpgradeRequest, admission: DeviceAdmission, token: string): void {
    const { service, context } = this.#deps;
    const owner = legOwnerOf(admission);
    const makeLeg = (ended: () => void): RtcLeg =>
      new RtcDeviceLeg({ admission, service, context, owner, ended });
    void this.#offer(request, { key: admission.sessionId, credential: token, makeLeg });
  }

  /** The ticket is consumed: from then on the session's URL is the viewer's only credential. */
  #openRtcViewer(request: UpgradeRequest, admission: ViewerAdmission, ticket: string): void {
    const { service, context } = this.#deps;
    const makeLeg = (ended: () => void): RtcLeg =>
      new RtcViewerLeg({ admission, service, context, owner: '', ended });
    void this.#offer(request, { key: ticket, credential: null, makeLeg });
  }

  async #offer(request: UpgradeRequest, offer: RtcOffer): Promise<void> {
    const { telemetry, rtc } = this.#deps;
    const refusal = await rtc.offer(request, offer, () => telemetry.mediaLogin('accepted'));
    if (refusal !== null) this.#refuse(request, refusal);
  }

  /** A peer that hangs up meanwhile is neither admitted nor counted. */
  async #admit<Admission extends DeviceAdmission | BridgeAdmission | ViewerAdmission>(
    request: UpgradeRequest,
    asking: Promise<Result<Admission, AdmissionRefusal>>,
    open: (admission: Admission) => void,
    refusalOfStray: (call: CallElsewhere) => HttpRefusal = misdirected,
  ): Promise<void> {
    const outcome = await this.#awaitAdmission(asking);
    if (!request.isAsking) return;
    if (outcome.ok || typeof outcome.error !== 'string') this.#deps.proved(request);
    if (!outcome.ok)
      this.#refuse(
        request,
        typeof outcome.error === 'string' ? outcome.error : refusalOfStray(outcome.error),
      );
    else if (!this.#deps.makeRoom(legOwnerOf(outcome.value), outcome.value.sessionId === null))
      this.#refuse(request, 'busy');
    else open(outcome.value);
  }

  async #awaitAdmission<Admission>(
    asking: Promise<Result<Admission, AdmissionRefusal>>,
  ): Promise<Result<Admission, AdmissionRefusal>> {
    this.#checks += 1;
    const isAnswered = await completesWithin(this.#deps.clock, legAdmissionMsMax, asking);
    this.#checks -= 1;
    if (isAnswered) return asking;
    this.#deps.reportTimeout();
    return fail('unavailable');
  }

  #openDevice(request: UpgradeRequest, admission: DeviceAdmission): void {
    const { service, context } = this.#deps;
    const { sessionId, media } = admission;
    this.#upgrade(request, legOwnerOf(admission), (leg) => {
      const opened = service.openDeviceLeg(admission, leg);
      if (opened === null) return null;
      leg.carry((out) => context.relay.joinDevice(sessionId, media, out, admission.appId));
      return { kind: 'device', leg: opened };
    });
  }

  #openBridge(request: UpgradeRequest, admission: BridgeAdmission): void {
    const { service } = this.#deps;
    const leg = this.#upgrade(request, legOwnerOf(admission), (opening) => {
      const opened = service.openBridgeLeg(admission, opening);
      return opened === null ? null : { kind: 'bridge', leg: opened };
    });
    if (admission.sessionId === null) leg?.standIdle();
  }

  #openDownlink(request: UpgradeRequest, admission: DeviceAdmission): void {
    const { service, context } = this.#deps;
    const { sessionId, media } = admission;
    this.#stream(request, partsForDevices(), 'session_ended', {
      owner: legOwnerOf(admission),
      open: (leg) => service.openDeviceLeg(admission, leg),
      join: (out) => context.relay.joinDevice(sessionId, media, out, admission.appId),
    });
  }

  #openViewer(request: UpgradeRequest, admission: ViewerAdmission, picture: WatchedPicture): void {
    const { service, context } = this.#deps;
    this.#stream(request, partsForPeople(), 'viewers', {
      owner: '',
      open: (leg) => service.openViewer(admission, leg),
      join: (out) => context.relay.watch(admission.sessionId, picture, out),
    });
  }

  /** Null: the peer has disconnected. */
  #upgrade(
    request: UpgradeRequest,
    owner: LegOwner,
    open: (leg: SocketLeg) => LegSide | null,
  ): SocketLeg | null {
    const { context, telemetry } = this.#deps;
    let entered: SocketLeg | null = null;
    this.#delayUntilReported(request);
    request.upgrade((socket) => {
      const leg = new SocketLeg(socket, context, owner);
      telemetry.mediaLogin(leg.enter(open) ?? 'accepted');
      entered = leg;
      return leg;
    });
    return entered;
  }

  /**
   * Delays the response until the owner of the call knows the leg: a peer that learns that its leg is open then sees it at every member.
   * For legs opened in this turn.
   */
  #delayUntilReported(request: UpgradeRequest): void {
    const release = request.delayWrites();
    queueMicrotask(() => void this.#deps.service.flush().then(release));
  }

  /** `late`: the refusal if the leg service no longer accepts the leg. */
  #stream(request: UpgradeRequest, parts: PictureParts, late: LegRefusal, deps: DownlinkDeps): void {
    this.#delayUntilReported(request);
    const refusal = new DownlinkLeg(request, parts, this.#deps.context).enter(deps);
    if (refusal === null) this.#deps.telemetry.mediaLogin('accepted');
    else this.#refuse(request, refusal === 'late' ? late : refusal);
  }

  /** A request for an unknown path is not a login, and is not counted. */
  #refuse(request: UpgradeRequest, refusal: HttpRefusal | LegRefusal): void {
    if (typeof refusal === 'string') this.#deps.telemetry.mediaLogin(refusal);
    request.refuse(typeof refusal === 'string' ? refusalOf(refusal) : refusal);
  }
}
