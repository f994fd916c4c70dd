/**
 * The port of the media legs: admission, reports, and the end of a leg. `admit…` exchanges plain values only, and reports of an
 * open leg have no answer, so that the legs may run in another process. Source: calls-and-media.md, Legs.
 */
import type { Result } from '../../lib/result.ts';
import type { AliveSign, CallReport, LegRefusal, LegCloseReason, LegMessage } from '../../model/call.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { AdmittedLeg, BroughtLeg } from '../../protocol/media-link/link-message.ts';

/** A leg of a call, or an idle bridge, as the calls see it. Owned by the media legs. */
export interface CallLeg {
  /** Never throws. The owner closes a leg that does not read, and then calls `disconnected`. */
  notify(message: LegMessage): void;
  /** Closes the leg. The owner does not call `disconnected` afterwards. */
  close(reason: LegCloseReason): void;
}

export interface PlacedLeg extends CallLeg {
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

/** Reports of an open leg. None follows after `disconnected`, or after the core has closed the leg. */
export interface OpenDeviceLeg {
  report(report: CallReport): void;
  /** A frame or a ping has arrived, which may renew the lease. Cheap enough for each frame. */
  alive(by: AliveSign): void;
  disconnected(): void;
}

export interface OpenBridgeLeg extends OpenDeviceLeg {
  /** `about`: the session that the report names; a report about another is ignored and counted. Default, and null: the leg's own. */
  report(report: CallReport, about?: string | null): void;
  answerAssignment(accepted: boolean): void;
  /** In place of an answer: the media process cannot carry the call now, and has not asked the bridge. */
  cannotCarry(why: ReservationRefusal): void;
}

export interface OpenViewer {
  disconnected(): void;
}

export interface CallElsewhere {
  /** Address of that process: `ws://host:port` or `wss://host:port`. */
  readonly mediaUrl: string;
}

export type AdmissionRefusal = LegRefusal | CallElsewhere;

export interface LegService<Leg extends CallLeg = CallLeg> {
  /**
   * Resolves once all earlier reports have reached the core, or never will: a peer that is notified that its leg is open finds its
   * call in that state, whichever process it asks. Never rejects.
   */
  flush(): Promise<void>;
  /** Changes nothing: `openDeviceLeg` does. Never rejects. */
  admitDevice(token: string): Promise<Result<DeviceAdmission, AdmissionRefusal>>;
  /** `sessionId`: as requested, unparsed; null: none. Never rejects. */
  admitBridge(key: string, sessionId: string | null): Promise<Result<BridgeAdmission, AdmissionRefusal>>;
  /** Redeems the ticket, which is good once. Never rejects. */
  admitViewer(ticket: string): Promise<Result<ViewerAdmission, AdmissionRefusal>>;
  /** Replaces the current leg. Null: the session has ended since; close the leg as `ended`. */
  openDeviceLeg(admission: DeviceAdmission, leg: Leg): OpenDeviceLeg | null;
  /** Without a session the bridge stays idle until it is assigned a call. Null: as above, or the bridge was revoked since. */
  openBridgeLeg(admission: BridgeAdmission, leg: Leg): OpenBridgeLeg | null;
  /** `leg` is notified of states and of the end. Null: as above, or too many viewers. */
  openViewer(admission: ViewerAdmission, leg: Leg): OpenViewer | null;
}

export interface CoreLegService extends LegService<PlacedLeg> {
  /** Replaces the current leg. Null: the leg is closed, or to be closed as `ended`. */
  resumeDeviceLeg(brought: BroughtDevice, leg: PlacedLeg): OpenDeviceLeg | null;
  /** Like `resumeDeviceLeg`; does not send the bridge its start again. */
  resumeBridgeLeg(brought: BroughtBridge, leg: PlacedLeg): OpenBridgeLeg | null;
}
