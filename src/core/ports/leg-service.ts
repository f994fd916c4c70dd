/**
 * The service that media legs ask: admission, reports, and the end of a leg. Nothing but plain values goes in and out
 * of `admit…`, and what is said of an open leg needs no answer, so that the legs may stand in another process. Source:
 * calls-and-media.md, Legs.
 */
import type { Result } from '../../lib/result.ts';
import type { AliveSign, CallReport, LegRefusal, LegCloseReason, LegMessage } from '../../model/call.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { AdmittedLeg, BroughtLeg } from '../../protocol/media-link/link-message.ts';

/** A leg of a call, or an idle bridge, as the calls see it. Made and owned by the media legs. */
export interface CallLeg {
  /** Never throws; a leg that does not read is closed by its owner, who then says that it is gone. */
  notify(message: LegMessage): void;
  /** Ends the leg from our side. The owner does not say that it is gone: who closes already knows. */
  close(reason: LegCloseReason): void;
}

/** The same, as the server has it. */
export interface PlacedLeg extends CallLeg {
  /** The number of the media process that it stands in. */
  readonly process: number;
}

export type AdmissionOf<Kind extends AdmittedLeg['kind']> = Readonly<
  Extract<AdmittedLeg, { readonly kind: Kind }>['admission']
>;
export type DeviceAdmission = AdmissionOf<'device'>;
export type BridgeAdmission = AdmissionOf<'bridge'>;
export type ViewerAdmission = AdmissionOf<'viewer'>;
export type BroughtDevice = Extract<BroughtLeg, { readonly kind: 'device' }>;
export type BroughtBridge = Extract<BroughtLeg, { readonly kind: 'bridge' }>;

/** A leg that is open, as its socket speaks of it. After `gone`, or a close from our side, nothing is said any more. */
export interface OpenDeviceLeg {
  report(report: CallReport): void;
  /** A frame, or a ping, has come: it may renew the lease. Cheap; may be said of every frame. */
  alive(by: AliveSign): void;
  gone(): void;
}

export interface OpenBridgeLeg extends OpenDeviceLeg {
  /** `about`: the session that the report names; another one's is ignored and counted. Null, or left out: its own. */
  report(report: CallReport, about?: string | null): void;
  /** Its answer to `assign`. */
  answerAssignment(accepted: boolean): void;
  /** Instead of it: its media process cannot carry the call at the moment, and has not told the bridge of it. */
  cannotCarry(why: ReservationRefusal): void;
}

export interface OpenViewer {
  gone(): void;
}

/** The call of a leg is at another media process. */
export interface CallElsewhere {
  /** The address of that process: `ws://host:port` or `wss://host:port`. */
  readonly mediaUrl: string;
}

/** Why a leg is not admitted. */
export type AdmissionRefusal = LegRefusal | CallElsewhere;

export interface LegService<Leg extends CallLeg = CallLeg> {
  /**
   * Resolves when everything that was said before is known to who keeps the calls, or never will be: a peer that is told
   * that its leg is open finds its call so, whomever it asks. Never rejects.
   */
  heard(): Promise<void>;
  /** Never rejects. Nothing is changed yet: that does `openDeviceLeg`. */
  admitDevice(token: string): Promise<Result<DeviceAdmission, AdmissionRefusal>>;
  /** `sessionId`: the one asked for, as it was written; null: none. Never rejects. */
  admitBridge(key: string, sessionId: string | null): Promise<Result<BridgeAdmission, AdmissionRefusal>>;
  /** Takes the ticket: it is good once. Never rejects. */
  admitViewer(ticket: string): Promise<Result<ViewerAdmission, AdmissionRefusal>>;
  /** Null: the session has ended since, and the leg is to be closed as `ended`. Replaces the leg that is there. */
  openDeviceLeg(admission: DeviceAdmission, leg: Leg): OpenDeviceLeg | null;
  /** Null: as above, or the bridge has been revoked since. Without a session it stands idle until it is given one. */
  openBridgeLeg(admission: BridgeAdmission, leg: Leg): OpenBridgeLeg | null;
  /** Null: as above, or as many watch as may. `leg` is told states and the end. */
  openViewer(admission: ViewerAdmission, leg: Leg): OpenViewer | null;
}

/** The same, as the core has it. */
export interface CoreLegService extends LegService<PlacedLeg> {
  /** Null: it is closed, or to be closed as `ended`. Takes the place of the leg that is there. */
  resumeDeviceLeg(brought: BroughtDevice, leg: PlacedLeg): OpenDeviceLeg | null;
  /** The same. It is not told again of its call. */
  resumeBridgeLeg(brought: BroughtBridge, leg: PlacedLeg): OpenBridgeLeg | null;
}
