/** A device's open leg: what its socket says goes to the call, what the call says to its socket. */
import type { CallDirectory } from '../calls/call-directory.ts';
import type { AliveSign, CallReport, LegCloseReason, LegMessage } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import type { OpenDeviceLeg } from '../ports/leg-service.ts';
import type { CallLeg } from '../ports/call-leg.ts';

export interface ConnectedDevicesDeps {
  readonly directory: CallDirectory;
  /** Those that are open; each takes itself out. */
  readonly devices: Set<ConnectedDevice>;
}

/** The directory knows the leg by this object. */
export class ConnectedDevice implements CallLeg, OpenDeviceLeg {
  readonly #deps: ConnectedDevicesDeps;
  readonly #sessionId: SessionId;
  readonly #leg: CallLeg;

  constructor(deps: ConnectedDevicesDeps, sessionId: SessionId, leg: CallLeg) {
    this.#deps = deps;
    this.#sessionId = sessionId;
    this.#leg = leg;
    deps.devices.add(this);
  }

  notify(message: LegMessage): void {
    this.#leg.notify(message);
  }

  close(reason: LegCloseReason): void {
    if (this.#deps.devices.delete(this)) this.#leg.close(reason);
  }

  report(report: CallReport): void {
    this.#deps.directory.report(this.#sessionId, 'device', this, report);
  }

  alive(by: AliveSign): void {
    this.#deps.directory.alive(this.#sessionId, 'device', this, by);
  }

  gone(): void {
    if (this.#deps.devices.delete(this)) this.#deps.directory.disconnected(this.#sessionId, 'device', this);
  }
}
