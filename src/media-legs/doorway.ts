/**
 * Who is let in: what a request asks for is put to the desk, which takes its time, and its answer becomes a leg or a
 * refusal. Every refusal closes its connection. Source: calls-and-media.md, Legs.
 */
import type { Clock } from '../base/clock.ts';
import { fail, type Outcome } from '../base/outcome.ts';
import { settlesWithin } from '../base/settles-within.ts';
import type { LegRefusal } from '../domain/call.ts';
import { legAdmissionMsMax } from '../domain/limits.ts';
import type { CallDesk, OpenViewer } from '../ports/call-desk.ts';
import type { CallLeg } from '../ports/call-leg.ts';
import type { Telemetry } from '../ports/telemetry.ts';
import { DownlinkLeg } from './downlink-leg.ts';
import type { LegHall } from './leg-hall.ts';
import { readLegRequest, type LegRequest } from './leg-request.ts';
import { bridgeSide, deviceSide, type LegSide } from './leg-side.ts';
import { refusalOf, type HttpRefusal } from './refusal.ts';
import { SocketLeg } from './socket-leg.ts';
import type { Visit } from './visit.ts';

export interface DoorwayHouse {
  readonly clock: Clock;
  readonly desk: CallDesk;
  readonly telemetry: Telemetry;
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
          this.#upgrade(visit, (leg) => {
            const opened = desk.openDeviceLeg(admission, leg);
            return opened === null ? null : deviceSide(opened);
          }),
        );
      case 'bridge':
        return this.#admit(visit, desk.admitBridge(asked.bridgeKey, asked.sessionId), (admission) =>
          this.#upgrade(visit, (leg) => {
            const opened = desk.openBridgeLeg(admission, leg);
            return opened === null ? null : bridgeSide(opened);
          }),
        );
      case 'downlink':
        return this.#admit(visit, desk.admitDevice(asked.token), (admission) =>
          this.#stream(visit, 'session_ended', (leg) => desk.openDeviceLeg(admission, leg)),
        );
      case 'viewer':
        return this.#admit(visit, desk.admitViewer(asked.ticket), (admission) =>
          this.#stream(visit, 'viewers', (leg) => desk.openViewer(admission, leg)),
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

  #upgrade(visit: Visit, open: (leg: CallLeg) => LegSide | null): void {
    const { hall, telemetry } = this.#house;
    visit.upgrade((socket) => {
      const leg = new SocketLeg(socket, hall);
      telemetry.mediaLogin(leg.enter(open) ? 'accepted' : 'session_ended');
      return leg;
    });
  }

  /** `otherwise`: what it means when the house will not have the leg any more. */
  #stream(visit: Visit, otherwise: LegRefusal, open: (leg: CallLeg) => OpenViewer | null): void {
    const leg = new DownlinkLeg(visit, this.#house.hall);
    if (leg.enter(open)) this.#house.telemetry.mediaLogin('accepted');
    else this.#turnAway(visit, otherwise);
  }

  /** A request that asks for nothing of ours is no login, and is not counted. */
  #turnAway(visit: Visit, refusal: HttpRefusal | LegRefusal): void {
    if (typeof refusal === 'string') this.#house.telemetry.mediaLogin(refusal);
    visit.refuse(typeof refusal === 'string' ? refusalOf(refusal) : refusal);
  }
}
