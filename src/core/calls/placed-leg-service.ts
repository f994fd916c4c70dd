/**
 * The leg service as one media process of the server asks it: a leg whose call is at another one is not admitted, but told
 * where to go, before anything is used up. A bridge without a call stands idle where it has come. Source:
 * calls-and-media.md, The media process.
 */
import { fail, type Result } from '../../lib/result.ts';
import type { SessionId } from '../../model/ids.ts';
import type {
  AdmissionRefusal,
  BridgeAdmission,
  DeviceAdmission,
  LegPlace,
  LegService,
  OpenBridgeLeg,
  OpenDeviceLeg,
  OpenViewer,
  PlacedLeg,
  ViewerAdmission,
} from '../ports/leg-service.ts';
import type { ViewerTickets } from './viewers.ts';

export interface PlacedLegServiceDeps {
  readonly service: LegService<PlacedLeg>;
  readonly tickets: Pick<ViewerTickets, 'find'>;
  /** Null: the call is to be at this media process. */
  elsewhere(sessionId: SessionId): LegPlace | null;
}

export class PlacedLegService implements LegService<PlacedLeg> {
  readonly #deps: PlacedLegServiceDeps;

  constructor(deps: PlacedLegServiceDeps) {
    this.#deps = deps;
  }

  heard(): Promise<void> {
    return this.#deps.service.heard();
  }

  async admitDevice(token: string): Promise<Result<DeviceAdmission, AdmissionRefusal>> {
    return this.#placed(await this.#deps.service.admitDevice(token));
  }

  async admitBridge(
    key: string,
    sessionId: string | null,
  ): Promise<Result<BridgeAdmission, AdmissionRefusal>> {
    return this.#placed(await this.#deps.service.admitBridge(key, sessionId));
  }

  /** The ticket is left for the process that has the call. */
  async admitViewer(ticket: string): Promise<Result<ViewerAdmission, AdmissionRefusal>> {
    const { service, tickets } = this.#deps;
    const sessionId = tickets.find(ticket);
    const place = sessionId === null ? null : this.#deps.elsewhere(sessionId);
    return place === null ? service.admitViewer(ticket) : fail(place);
  }

  openDeviceLeg(admission: DeviceAdmission, leg: PlacedLeg): OpenDeviceLeg | null {
    return this.#deps.service.openDeviceLeg(admission, leg);
  }

  openBridgeLeg(admission: BridgeAdmission, leg: PlacedLeg): OpenBridgeLeg | null {
    return this.#deps.service.openBridgeLeg(admission, leg);
  }

  openViewer(admission: ViewerAdmission, leg: PlacedLeg): OpenViewer | null {
    return this.#deps.service.openViewer(admission, leg);
  }

  #placed<Admission extends { readonly sessionId: SessionId | null }>(
    admission: Result<Admission, AdmissionRefusal>,
  ): Result<Admission, AdmissionRefusal> {
    const sessionId = admission.ok ? admission.value.sessionId : null;
    const place = sessionId === null ? null : this.#deps.elsewhere(sessionId);
    return place === null ? admission : fail(place);
  }
}
