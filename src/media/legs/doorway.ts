/**
 * Who is let in: what a request asks for is put to the desk, which takes its time, then whether it can be carried to the
 * relay; the answer becomes a leg or a refusal. Every refusal closes its connection. Source: calls-and-media.md, Legs.
 */
import type { Clock } from '../../lib/clock.ts';
import { fail, type Outcome } from '../../lib/outcome.ts';
import { settlesWithin } from '../../lib/settles-within.ts';
import type { LegRefusal } from '../../model/call.ts';
import { legAdmissionMsMax } from '../../model/limits.ts';
import type { BridgeAdmission, CallDesk, DeviceAdmission, ViewerAdmission } from '../../core/ports/call-desk.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import type { DeviceOutput } from '../relay/output.ts';
import { BridgeLeg } from './bridge-leg.ts';
import { DownlinkLeg, type DownlinkDoors } from './downlink-leg.ts';
import type { LegHall } from './leg-hall.ts';
import { readLegRequest, type LegRequest, type WatchedPicture } from './leg-request.ts';
import { bridgeSide, deviceSide, type LegSide } from './leg-side.ts';
import { refusalOf, type HttpRefusal } from './refusal.ts';
import { SocketLeg } from './socket-leg.ts';
import type { Visit } from './visit.ts';

export interface DoorwayHouse {
  readonly clock: Clock;
  readonly desk: CallDesk;
  readonly telemetry: MediaTelemetry;
  readonly hall: LegHall;
  /** Requests that the desk may be asked about at once. */
  readonly checksMax: number;
  /** Room for one more leg. */
  hasRoom(): boolean;
  /** The desk did not answer in time. */
  reportSilence(): void;
}

export class Doorway {
  readonly #house: DoorwayHouse;
  #checks = 0;

  constructor(house: DoorwayHouse) {
    this.#house = house;
  }

  handle(visit: Visit): void {
    const asked = readLegRequest(visit.request, visit.asksForUpgrade);
    if (!asked.ok) this.#turnAway(visit, asked.error);
    else if (this.#checks >= this.#house.checksMax || !this.#house.hasRoom()) this.#turnAway(visit, 'busy');
    else void this.#receive(visit, asked.value);
  }

  #receive(visit: Visit, asked: LegRequest): Promise<void> {
    const { desk } = this.#house;
    switch (asked.kind) {
      case 'device':
        return this.#admit(visit, desk.admitDevice(asked.token), (admission) =>
          this.#letDeviceIn(visit, admission),
        );
      case 'bridge':
        return this.#admit(visit, desk.admitBridge(asked.bridgeKey, asked.sessionId), (admission) =>
          this.#letBridgeIn(visit, admission),
        );
      case 'downlink':
        return this.#admit(visit, desk.admitDevice(asked.token), (admission) =>
          this.#letDownlinkIn(visit, admission),
        );
      case 'viewer':
        return this.#admit(visit, desk.admitViewer(asked.ticket), (admission) =>
          this.#letViewerIn(visit, admission, asked.picture),
        );
    }
  }

  /** A visitor who hangs up meanwhile is neither let in nor counted. */
  async #admit<Admission>(
    visit: Visit,
    asking: Promise<Outcome<Admission, LegRefusal>>,
    letIn: (admission: Admission) => void,
  ): Promise<void> {
    const outcome = await this.#wait(asking);
    if (!visit.isAsking) return;
    if (!outcome.ok) this.#turnAway(visit, outcome.error);
    else if (!this.#house.hasRoom()) this.#turnAway(visit, 'busy');
    else letIn(outcome.value);
  }

  async #wait<Admission>(
    asking: Promise<Outcome<Admission, LegRefusal>>,
  ): Promise<Outcome<Admission, LegRefusal>> {
    this.#checks += 1;
    const isAnswered = await settlesWithin(this.#house.clock, legAdmissionMsMax, asking);
    this.#checks -= 1;
    if (isAnswered) return asking;
    this.#house.reportSilence();
    return fail('unavailable');
  }

  #letDeviceIn(visit: Visit, admission: DeviceAdmission): void {
    const { desk, hall } = this.#house;
    const { sessionId, media } = admission;
    if (!this.#canCarry(visit, admission, 'frames')) return;
    this.#upgrade(visit, (leg) => {
      const opened = desk.openDeviceLeg(admission, leg);
      if (opened === null) return null;
      leg.carry((out) => hall.relay.joinDevice(sessionId, media, out));
      return deviceSide(opened);
    });
  }

  /** Before the leg that is there is replaced. False: it is turned away. */
  #canCarry(visit: Visit, { sessionId, media }: DeviceAdmission, takes: DeviceOutput['takes']): boolean {
    const refusal = this.#house.hall.relay.refusalOf(sessionId, media, takes);
    if (refusal !== null) this.#turnAway(visit, refusal);
    return refusal === null;
  }

  #letBridgeIn(visit: Visit, admission: BridgeAdmission): void {
    const { desk, hall } = this.#house;
    this.#upgrade(visit, (leg) => {
      const opened = desk.openBridgeLeg(admission, new BridgeLeg(leg, hall));
      return opened === null ? null : bridgeSide(opened);
    });
  }

  #letDownlinkIn(visit: Visit, admission: DeviceAdmission): void {
    const { desk, hall } = this.#house;
    const { sessionId, media } = admission;
    if (!this.#canCarry(visit, admission, 'pictures')) return;
    this.#stream(visit, 'session_ended', {
      open: (leg) => desk.openDeviceLeg(admission, leg),
      join: (out) => hall.relay.joinDevice(sessionId, media, out),
    });
  }

  #letViewerIn(visit: Visit, admission: ViewerAdmission, picture: WatchedPicture): void {
    const { desk, hall } = this.#house;
    this.#stream(visit, 'viewers', {
      open: (leg) => desk.openViewer(admission, leg),
      join: (out) => hall.relay.watch(admission.sessionId, picture, out),
    });
  }

  #upgrade(visit: Visit, open: (leg: SocketLeg) => LegSide | null): void {
    const { hall, telemetry } = this.#house;
    this.#holdUntilHeard(visit);
    visit.upgrade((socket) => {
      const leg = new SocketLeg(socket, hall);
      telemetry.mediaLogin(leg.enter(open) ?? 'accepted');
      return leg;
    });
  }

  /** Who is told that the leg is open finds the call so, whomever it asks. Of what is opened in this turn. */
  #holdUntilHeard(visit: Visit): void {
    const release = visit.hold();
    queueMicrotask(() => void this.#house.desk.heard().then(release));
  }

  /** `otherwise`: what it means when the house will not have the leg any more. */
  #stream(visit: Visit, otherwise: LegRefusal, doors: DownlinkDoors): void {
    this.#holdUntilHeard(visit);
    const refusal = new DownlinkLeg(visit, this.#house.hall).enter(doors);
    if (refusal === null) this.#house.telemetry.mediaLogin('accepted');
    else this.#turnAway(visit, refusal === 'late' ? otherwise : refusal);
  }

  /** A request that asks for nothing of ours is no login, and is not counted. */
  #turnAway(visit: Visit, refusal: HttpRefusal | LegRefusal): void {
    if (typeof refusal === 'string') this.#house.telemetry.mediaLogin(refusal);
    visit.refuse(typeof refusal === 'string' ? refusalOf(refusal) : refusal);
  }
}
