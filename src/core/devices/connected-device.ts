/** A device's open leg: what its socket says goes to the call, what the call says to its socket. */
import type { CallDirectory } from '../calls/call-directory.ts';
import type { AliveSign, CallReport, LegCloseReason, LegMessage } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import type { OpenDeviceLeg } from '../ports/call-desk.ts';
import type { CallLeg } from '../ports/call-leg.ts';

export interface ConnectedDevicesHouse {
  readonly directory: CallDirectory;
  /** Those that are open; each takes itself out. */
  readonly devices: Set<ConnectedDevice>;
}

/** The directory knows the leg by this object. */
export class ConnectedDevice implements CallLeg, OpenDeviceLeg {
  readonly #house: ConnectedDevicesHouse;
  readonly #sessionId: SessionId;
  readonly #leg: CallLeg;

  constructor(house: ConnectedDevicesHouse, sessionId: SessionId, leg: CallLeg) {
    this.#house = house;
    this.#sessionId = sessionId;
    this.#leg = leg;
    house.devices.add(this);
  }

  tell(message: LegMessage): void {
    this.#leg.tell(message);
  }

  close(reason: LegCloseReason): void {
    if (this.#house.devices.delete(this)) this.#leg.close(reason);
  }

  report(report: CallReport): void {
    this.#house.directory.report(this.#sessionId, 'device', this, report);
  }

  alive(by: AliveSign): void {
    this.#house.directory.alive(this.#sessionId, 'device', this, by);
  }

  gone(): void {
    if (this.#house.devices.delete(this)) this.#house.directory.disconnected(this.#sessionId, 'device', this);
  }
}
