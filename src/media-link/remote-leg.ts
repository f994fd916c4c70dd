/** An open leg in the media process: what its socket says crosses the link, at most once a second that it is alive. */
import type { Clock } from '../base/clock.ts';
import type { AliveSign, CallReport } from '../domain/call.ts';
import { legAliveMsMin, legRequestBytesMax } from '../domain/limits.ts';
import type { MediaMessage } from '../link-wire/link-message.ts';
import type { OpenBridgeLeg } from '../ports/call-desk.ts';
import type { CallLeg } from '../ports/call-leg.ts';

export interface RemoteLegHouse {
  readonly clock: Clock;
  /** Those that are open. */
  readonly legs: Map<number, RemoteLeg>;
  send(message: MediaMessage): void;
}

/** Of a bridge, and so of a device and of a viewer, who say less. */
export class RemoteLeg implements OpenBridgeLeg {
  readonly leg: CallLeg;
  readonly #house: RemoteLegHouse;
  readonly #number: number;
  /** Monotonic: before it such a sign does not cross again. */
  #mediaDueMs = -Infinity;
  #pingDueMs = -Infinity;

  constructor(house: RemoteLegHouse, number: number, leg: CallLeg) {
    this.#house = house;
    this.#number = number;
    this.leg = leg;
    house.legs.set(number, this);
    house.send({ kind: 'open', leg: number });
  }

  report(report: CallReport, about: string | null = null): void {
    if (!this.#isOpen) return;
    // A longer one names no session, cut or whole.
    const named = about?.slice(0, legRequestBytesMax) ?? null;
    this.#house.send({ kind: 'report', leg: this.#number, report, about: named });
  }

  answerAssignment(accepted: boolean): void {
    if (this.#isOpen) this.#house.send({ kind: 'answer', leg: this.#number, accepted });
  }

  alive(by: AliveSign): void {
    const nowMs = this.#house.clock.monotonicMs();
    if (nowMs < (by === 'media' ? this.#mediaDueMs : this.#pingDueMs) || !this.#isOpen) return;
    if (by === 'media') this.#mediaDueMs = nowMs + legAliveMsMin;
    else this.#pingDueMs = nowMs + legAliveMsMin;
    this.#house.send({ kind: 'alive', leg: this.#number, by });
  }

  gone(): void {
    if (this.#house.legs.delete(this.#number)) this.#house.send({ kind: 'gone', leg: this.#number });
  }

  get #isOpen(): boolean {
    return this.#house.legs.has(this.#number);
  }
}
