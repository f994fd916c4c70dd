/**
 * A minimal server behind a media listener: it knows the credentials, records the messages of legs, and lets a test withhold
 * answers and await events.
 */
import { fail, succeed, type Result } from '../../src/lib/result.ts';
import type { AliveSign, CallReport, LegRefusal } from '../../src/model/call.ts';
import {
  generateSessionId,
  generateTokenId,
  type ApplicationId,
  type BridgeId,
  type DeviceId,
  type SessionId,
} from '../../src/model/ids.ts';
import type { ReservationRefusal } from '../../src/model/media/picture.ts';
import type {
  AdmissionRefusal,
  BridgeAdmission,
  CoreLegService,
  DeviceAdmission,
  OpenBridgeLeg,
  OpenDeviceLeg,
  OpenViewer,
  ViewerAdmission,
  CallLeg,
} from '../../src/core/ports/leg-service.ts';
import { callMedia } from './call-scene.ts';
import { Happenings } from './happenings.ts';

export class FakeOpenLeg implements OpenBridgeLeg {
  readonly kind: 'device' | 'bridge' | 'viewer';
  readonly leg: CallLeg;
  readonly reports: CallReport[] = [];
  readonly answers: boolean[] = [];
  readonly uncarried: ReservationRefusal[] = [];
  readonly signs: AliveSign[] = [];
  goneTimes = 0;
  readonly #happened: () => void;

  constructor(kind: FakeOpenLeg['kind'], leg: CallLeg, happened: () => void) {
    this.kind = kind;
    this.leg = leg;
    this.#happened = happened;
  }

  report(report: CallReport): void {
    this.reports.push(report);
    this.#happened();
  }

  answerAssignment(accepted: boolean): void {
    this.answers.push(accepted);
    this.#happened();
  }

  cannotCarry(why: ReservationRefusal): void {
    this.uncarried.push(why);
    this.#happened();
  }

  alive(by: AliveSign): void {
    this.signs.push(by);
    this.#happened();
  }

  disconnected(): void {
    this.goneTimes += 1;
    this.#happened();
  }
}

export class FakeLegService extends Happenings implements CoreLegService {
  /** Resolves when the messages of legs have been processed. */
  hearing: Promise<void> = Promise.resolve();

  readonly sessionId: SessionId = generateSessionId();
  /** Admissions by credential. A ticket is consumed when it is used. */
  readonly devices = new Map<string, DeviceAdmission>();
  readonly bridges = new Map<string, Omit<BridgeAdmission, 'sessionId'>>();
  readonly tickets = new Map<string, ViewerAdmission>();
  readonly refusals = new Map<string, AdmissionRefusal>();
  /** Credentials that were presented, with the requested session after each. */
  readonly asked: string[] = [];
  readonly legs: FakeOpenLeg[] = [];
  /** True: every admitted leg is too late, its call is over. */
  isOver = false;
  /** Called for every leg before it is open. */
  onOpening: (leg: CallLeg) => void = () => undefined;
  /** Answers wait for it; null: they are immediate. */
  held: Promise<void> | null = null;

  constructor() {
    super();
    const deviceId = 'TESTDEVICE01' as DeviceId;
    const { sessionId } = this;
    const appId = 'app-1' as ApplicationId;
    this.devices.set('good-token', {
      sessionId,
      appId,
      deviceId,
      tokenId: generateTokenId(),
      media: callMedia,
    });
    this.bridges.set('good-key', {
      bridgeId: 'bridge-1' as BridgeId,
      keySha256: 'f'.repeat(64),
    });
    this.tickets.set('good-ticket', { sessionId });
  }

  flush(): Promise<void> {
    return this.hearing;
  }

  admitDevice(token: string): Promise<Result<DeviceAdmission, AdmissionRefusal>> {
    return this.#answer(token, () => this.devices.get(token) ?? 'signature');
  }

  admitBridge(key: string, sessionId: string | null): Promise<Result<BridgeAdmission, AdmissionRefusal>> {
    return this.#answer(sessionId === null ? key : `${key} ${sessionId}`, () => {
      const bridge = this.bridges.get(key);
      if (bridge === undefined) return 'bridge_key';
      if (sessionId !== null && sessionId !== this.sessionId) return 'unknown_session';
      return { ...bridge, sessionId: sessionId === null ? null : this.sessionId };
    });
  }

  admitViewer(ticket: string): Promise<Result<ViewerAdmission, AdmissionRefusal>> {
    return this.#answer(ticket, () => {
      const admission = this.tickets.get(ticket);
      this.tickets.delete(ticket);
      return admission ?? 'ticket';
    });
  }

  resumeDeviceLeg(_: unknown, leg: CallLeg): OpenDeviceLeg | null {
    return this.#open('device', leg);
  }

  resumeBridgeLeg(_: unknown, leg: CallLeg): OpenBridgeLeg | null {
    return this.#open('bridge', leg);
  }

  openDeviceLeg(_: DeviceAdmission, leg: CallLeg): OpenDeviceLeg | null {
    return this.#open('device', leg);
  }

  openBridgeLeg(_: BridgeAdmission, leg: CallLeg): OpenBridgeLeg | null {
    return this.#open('bridge', leg);
  }

  openViewer(_: ViewerAdmission, leg: CallLeg): OpenViewer | null {
    return this.#open('viewer', leg);
  }

  /** Withholds all answers until the returned function is called. */
  withhold(): () => void {
    let release = (): void => undefined;
    this.held = new Promise((resolve) => (release = resolve));
    return release;
  }

  /** Resolves to the newest leg, once there were `count`. */
  leg(count = 1): Promise<FakeOpenLeg> {
    return this.nth(this.legs, count);
  }

  async #answer<Admission extends object>(
    shown: string,
    judge: () => Admission | LegRefusal,
  ): Promise<Result<Admission, AdmissionRefusal>> {
    this.asked.push(shown);
    this.happened();
    await this.held;
    const refusal = this.refusals.get(shown);
    if (refusal !== undefined) return fail(refusal);
    const verdict = judge();
    return typeof verdict === 'string' ? fail(verdict) : succeed(verdict);
  }

  #open(kind: FakeOpenLeg['kind'], leg: CallLeg): FakeOpenLeg | null {
    this.onOpening(leg);
    if (this.isOver) return null;
    const opened = new FakeOpenLeg(kind, leg, this.happened);
    this.legs.push(opened);
    this.happened();
    return opened;
  }
}
