/**
 * The legs of a media process, at the server's end of the link: its pending admission requests, which are bounded; admissions that can
 * still be opened; and open legs, by the number sent with the admission. A message about an unknown number is ignored: the leg was
 * closed while the message was in flight.
 */
import { succeed, type Result } from '../../lib/result.ts';
import type { LegCloseReason, LegMessage } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import { linkGrantsMax, linkLegsMax, linkQuestionsMax } from '../../model/limits.ts';
import type {
  AdmittedLeg,
  BroughtLeg,
  MediaMessage,
  ServerMessage,
} from '../../protocol/media-link/link-message.ts';
import type {
  AdmissionRefusal,
  CoreLegService,
  OpenBridgeLeg,
  OpenDeviceLeg,
  OpenViewer,
  PlacedLeg,
} from '../../core/ports/leg-service.ts';

type OpenLeg =
  | { readonly kind: 'device'; readonly open: OpenDeviceLeg }
  | { readonly kind: 'bridge'; readonly open: OpenBridgeLeg }
  | { readonly kind: 'viewer'; readonly open: OpenViewer };

export interface GrantedLegsDeps {
  readonly process: number;
  readonly service: CoreLegService;
  /** The `media_url` of the process that has the call; null: this one. Called when a leg of the call is admitted. */
  elsewhere(sessionId: SessionId): string | null;
  send(message: ServerMessage): void;
}

type LegReport = Extract<MediaMessage, { readonly kind: 'report' | 'answer' | 'uncarried' | 'alive' }>;

type AdmissionQuestion = Extract<
  MediaMessage,
  { readonly kind: 'admit-device' | 'admit-bridge' | 'admit-viewer' }
>;

class LinkedLeg implements PlacedLeg {
  readonly #deps: GrantedLegsDeps;
  readonly #number: number;
  readonly #legs: Map<number, OpenLeg>;
  /** Closed by the leg service, perhaps before it knows that the leg is open. */
  isClosed = false;

  constructor(deps: GrantedLegsDeps, number: number, legs: Map<number, OpenLeg>) {
    this.#deps = deps;
    this.#number = number;
    this.#legs = legs;
  }

  get process(): number {
    return this.#deps.process;
  }

  notify(message: LegMessage): void {
    this.#deps.send({ kind: 'tell', leg: this.#number, message });
  }

  close(reason: LegCloseReason): void {
    this.isClosed = true;
    this.#legs.delete(this.#number);
    this.#deps.send({ kind: 'close', leg: this.#number, reason });
  }
}

export class GrantedLegs {
  readonly #deps: GrantedLegsDeps;
  /** By number, oldest first. Opening a leg checks again whether it may be opened. */
  readonly #grants = new Map<number, AdmittedLeg>();
  readonly #legs = new Map<number, OpenLeg>();
  #numbers = 0;
  #openQuestions = 0;
  #isAdopted = false;
  #isOver = false;

  constructor(deps: GrantedLegsDeps) {
    this.#deps = deps;
  }

  /** Answers once, if the link still exists by then. */
  admit(question: AdmissionQuestion): void {
    // Numbers of admitted legs follow those of adopted ones.
    this.#isAdopted = true;
    if (this.#openQuestions >= linkQuestionsMax) this.#refuse(question, 'busy');
    else void this.#answer(question);
  }

  /** Returns the protocol violation as the end of a sentence; null: none. */
  open(number: number): string | null {
    if (this.#legs.has(number)) return 'opened a leg twice';
    const granted = this.#grants.get(number) ?? null;
    this.#grants.delete(number);
    this.#enter(number, (leg) => (granted === null ? null : openAt(this.#deps.service, granted, leg)));
    return null;
  }

  /** Adopts legs that are already open; they precede all others. Returns as `open` does. */
  adopt(legs: readonly BroughtLeg[]): string | null {
    if (this.#isAdopted) return 'brought legs after it had brought the last one';
    for (const brought of legs) {
      this.#numbers += 1;
      this.#enter(this.#numbers, (leg) => resumeAt(this.#deps.service, brought, leg));
    }
    return null;
  }

  completeAdoption(): void {
    this.#isAdopted = true;
  }

  received(report: LegReport): string | null {
    const leg = this.#legs.get(report.leg);
    if (leg === undefined) return null;
    if (leg.kind === 'viewer') return 'sent a message of a viewer, which may send none';
    if (report.kind === 'alive') leg.open.alive(report.by);
    else if (leg.kind === 'bridge') receivedOfBridge(leg.open, report);
    else if (report.kind === 'report') leg.open.report(report.report);
    else return 'answered an assignment for a device';
    return null;
  }

  legClosed(number: number): void {
    const leg = this.#legs.get(number);
    this.#legs.delete(number);
    leg?.open.disconnected();
  }

  /** Ends every leg and admits none any more. The leg service may close other legs in consequence. */
  end(): void {
    this.#isOver = true;
    this.#grants.clear();
    for (const number of this.#legs.keys()) this.legClosed(number);
  }

  #enter(number: number, open: (leg: LinkedLeg) => OpenLeg | null): void {
    const leg = new LinkedLeg(this.#deps, number, this.#legs);
    const opened = this.#legs.size < linkLegsMax ? open(leg) : null;
    if (leg.isClosed) return;
    if (opened === null) leg.close('ended');
    else this.#legs.set(number, opened);
  }

  async #answer(question: AdmissionQuestion): Promise<void> {
    this.#openQuestions += 1;
    const admission = await admit(this.#deps.service, question);
    this.#openQuestions -= 1;
    if (this.#isOver) return;
    if (!admission.ok) return this.#refuse(question, admission.error);
    const admitted = admission.value;
    const { sessionId } = admitted.admission;
    const mediaUrl = sessionId === null ? null : this.#deps.elsewhere(sessionId);
    if (mediaUrl !== null) return this.#refuse(question, { mediaUrl });
    this.#deps.send({ kind: 'admitted', question: question.question, leg: this.#grant(admitted), admitted });
  }

  #refuse({ question }: AdmissionQuestion, refusal: AdmissionRefusal): void {
    if (typeof refusal === 'string') this.#deps.send({ kind: 'refused', question, refusal });
    else this.#deps.send({ kind: 'elsewhere', question, call: refusal });
  }

  /** Returns the number by which the leg can be opened, once. */
  #grant(granted: AdmittedLeg): number {
    this.#numbers += 1;
    this.#grants.set(this.#numbers, granted);
    const [oldest = 0] = this.#grants.keys();
    if (this.#grants.size > linkGrantsMax) this.#grants.delete(oldest);
    return this.#numbers;
  }
}

function admit(
  service: CoreLegService,
  question: AdmissionQuestion,
): Promise<Result<AdmittedLeg, AdmissionRefusal>> {
  switch (question.kind) {
    case 'admit-device':
      return asAdmitted('device', service.admitDevice(question.token));
    case 'admit-bridge':
      return asAdmitted('bridge', service.admitBridge(question.key, question.sessionId));
    case 'admit-viewer':
      return asAdmitted('viewer', service.admitViewer(question.ticket));
  }
}

async function asAdmitted<Kind extends string, Admission>(
  kind: Kind,
  asking: Promise<Result<Admission, AdmissionRefusal>>,
): Promise<Result<{ readonly kind: Kind; readonly admission: Admission }, AdmissionRefusal>> {
  const asked = await asking;
  return asked.ok ? succeed({ kind, admission: asked.value }) : asked;
}

function openAt(service: CoreLegService, { kind, admission }: AdmittedLeg, leg: PlacedLeg): OpenLeg | null {
  switch (kind) {
    case 'device':
      return asOpen(kind, service.openDeviceLeg(admission, leg));
    case 'bridge':
      return asOpen(kind, service.openBridgeLeg(admission, leg));
    case 'viewer':
      return asOpen(kind, service.openViewer(admission, leg));
  }
}

function resumeAt(service: CoreLegService, brought: BroughtLeg, leg: PlacedLeg): OpenLeg | null {
  switch (brought.kind) {
    case 'device':
      return asOpen(brought.kind, service.resumeDeviceLeg(brought, leg));
    case 'bridge':
      return asOpen(brought.kind, service.resumeBridgeLeg(brought, leg));
    case 'viewer':
      return asOpen(brought.kind, service.openViewer(brought, leg));
  }
}

function asOpen<Kind extends string, Open>(
  kind: Kind,
  open: Open | null,
): { readonly kind: Kind; readonly open: Open } | null {
  return open === null ? null : { kind, open };
}

function receivedOfBridge(open: OpenBridgeLeg, report: Exclude<LegReport, { readonly kind: 'alive' }>): void {
  if (report.kind === 'report') open.report(report.report, report.about);
  else if (report.kind === 'answer') open.answerAssignment(report.accepted);
  else open.cannotCarry(report.why);
}
