/**
 * Who is let in: what a request asks for is put to the desk, which takes its time, then whether it can be carried to the
 * relay; the answer becomes a leg or a refusal. Every refusal closes its connection. Source: calls-and-media.md, Legs.
 */
import type { Clock } from '../../lib/clock.ts';
import { fail, type Result } from '../../lib/result.ts';
import { settlesWithin } from '../../lib/settles-within.ts';
import type { LegRefusal } from '../../model/call.ts';
import { legAdmissionMsMax } from '../../model/limits.ts';
import type {
  BridgeAdmission,
  LegService,
  DeviceAdmission,
  ViewerAdmission,
} from '../../core/ports/leg-service.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import type { DeviceOutput } from '../relay/output.ts';
import { DownlinkLeg, type DownlinkDeps } from './downlink-leg.ts';
import type { MediaListenerContext } from './listener-context.ts';
import { readLegRequest, type LegRequest, type WatchedPicture } from './leg-request.ts';
import { refusalOf, type HttpRefusal } from './refusal.ts';
import { SocketLeg, type LegSide } from './socket-leg.ts';
import type { UpgradeRequest } from './upgrade-request.ts';

export interface UpgradeHandlerDeps {
  readonly clock: Clock;
  readonly service: LegService;
  readonly telemetry: MediaTelemetry;
  readonly context: MediaListenerContext;
  /** Requests that the desk may be asked about at once. */
  readonly checksMax: number;
  /** Room for one more leg. */
  hasRoom(): boolean;
  /** The desk did not answer in time. */
  reportSilence(): void;
}

export class UpgradeHandler {
  readonly #deps: UpgradeHandlerDeps;
  #checks = 0;

  constructor(deps: UpgradeHandlerDeps) {
    this.#deps = deps;
  }

  handle(request: UpgradeRequest): void {
    const asked = readLegRequest(request.request, request.asksForUpgrade);
    if (!asked.ok) this.#turnAway(request, asked.error);
    else if (this.#checks >= this.#deps.checksMax || !this.#deps.hasRoom()) this.#turnAway(request, 'busy');
    else void this.#receive(request, asked.value);
  }

  #receive(request: UpgradeRequest, asked: LegRequest): Promise<void> {
    const { service } = this.#deps;
    switch (asked.kind) {
      case 'device':
        return this.#admit(request, service.admitDevice(asked.token), (admission) =>
          this.#letDeviceIn(request, admission),
        );
      case 'bridge':
        return this.#admit(request, service.admitBridge(asked.bridgeKey, asked.sessionId), (admission) =>
          this.#letBridgeIn(request, admission),
        );
      case 'downlink':
        return this.#admit(request, service.admitDevice(asked.token), (admission) =>
          this.#letDownlinkIn(request, admission),
        );
      case 'viewer':
        return this.#admit(request, service.admitViewer(asked.ticket), (admission) =>
          this.#letViewerIn(request, admission, asked.picture),
        );
    }
  }

  /** A visitor who hangs up meanwhile is neither let in nor counted. */
  async #admit<Admission>(
    request: UpgradeRequest,
    asking: Promise<Result<Admission, LegRefusal>>,
    letIn: (admission: Admission) => void,
  ): Promise<void> {
    const outcome = await this.#wait(asking);
    if (!request.isAsking) return;
    if (!outcome.ok) this.#turnAway(request, outcome.error);
    else if (!this.#deps.hasRoom()) this.#turnAway(request, 'busy');
    else letIn(outcome.value);
  }

  async #wait<Admission>(
    asking: Promise<Result<Admission, LegRefusal>>,
  ): Promise<Result<Admission, LegRefusal>> {
    this.#checks += 1;
    const isAnswered = await settlesWithin(this.#deps.clock, legAdmissionMsMax, asking);
    this.#checks -= 1;
    if (isAnswered) return asking;
    this.#deps.reportSilence();
    return fail('unavailable');
  }

  #letDeviceIn(request: UpgradeRequest, admission: DeviceAdmission): void {
    const { service, context } = this.#deps;
    const { sessionId, media } = admission;
    if (!this.#canCarry(request, admission, 'frames')) return;
    this.#upgrade(request, (leg) => {
      const opened = service.openDeviceLeg(admission, leg);
      if (opened === null) return null;
      leg.carry((out) => context.relay.joinDevice(sessionId, media, out));
      return { kind: 'device', leg: opened };
    });
  }

  /** Before the leg that is there is replaced. False: it is turned away. */
  #canCarry(
    request: UpgradeRequest,
    { sessionId, media }: DeviceAdmission,
    takes: DeviceOutput['takes'],
  ): boolean {
    const refusal = this.#deps.context.relay.refusalOf(sessionId, media, takes);
    if (refusal !== null) this.#turnAway(request, refusal);
    return refusal === null;
  }

  #letBridgeIn(request: UpgradeRequest, admission: BridgeAdmission): void {
    const { service } = this.#deps;
    this.#upgrade(request, (leg) => {
      const opened = service.openBridgeLeg(admission, leg);
      return opened === null ? null : { kind: 'bridge', leg: opened };
    });
  }

  #letDownlinkIn(request: UpgradeRequest, admission: DeviceAdmission): void {
    const { service, context } = this.#deps;
    const { sessionId, media } = admission;
    if (!this.#canCarry(request, admission, 'pictures')) return;
    this.#stream(request, 'session_ended', {
      open: (leg) => service.openDeviceLeg(admission, leg),
      join: (out) => context.relay.joinDevice(sessionId, media, out),
    });
  }

  #letViewerIn(request: UpgradeRequest, admission: ViewerAdmission, picture: WatchedPicture): void {
    const { service, context } = this.#deps;
    this.#stream(request, 'viewers', {
      open: (leg) => service.openViewer(admission, leg),
      join: (out) => context.relay.watch(admission.sessionId, picture, out),
    });
  }

  #upgrade(request: UpgradeRequest, open: (leg: SocketLeg) => LegSide | null): void {
    const { context, telemetry } = this.#deps;
    this.#holdUntilHeard(request);
    request.upgrade((socket) => {
      const leg = new SocketLeg(socket, context);
      telemetry.mediaLogin(leg.enter(open) ?? 'accepted');
      return leg;
    });
  }

  /** Who is told that the leg is open finds the call so, whomever it asks. Of what is opened in this turn. */
  #holdUntilHeard(request: UpgradeRequest): void {
    const release = request.hold();
    queueMicrotask(() => void this.#deps.service.heard().then(release));
  }

  /** `otherwise`: what it means when the house will not have the leg any more. */
  #stream(request: UpgradeRequest, otherwise: LegRefusal, doors: DownlinkDeps): void {
    this.#holdUntilHeard(request);
    const refusal = new DownlinkLeg(request, this.#deps.context).enter(doors);
    if (refusal === null) this.#deps.telemetry.mediaLogin('accepted');
    else this.#turnAway(request, refusal === 'late' ? otherwise : refusal);
  }

  /** A request that asks for nothing of ours is no login, and is not counted. */
  #turnAway(request: UpgradeRequest, refusal: HttpRefusal | LegRefusal): void {
    if (typeof refusal === 'string') this.#deps.telemetry.mediaLogin(refusal);
    request.refuse(typeof refusal === 'string' ? refusalOf(refusal) : refusal);
  }
}
