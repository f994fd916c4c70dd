/**
 * Who gets a session key now, who waits for it, who is turned away. Three bounds hold it back: keys per second,
 * handshakes in progress, and handshakes in progress from one address. Those who wait stand in the lane of
 * their address; lanes that could be served take turns, one key each, and a lane whose address is at its bound
 * takes no turns. So neither a crowd behind one address nor a hostile one delays anybody else.
 * How long an applicant may wait is the applicant's business: it withdraws. Source: sleep-wire.md, Storms.
 */
import { assert } from '../../lib/assert.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import { admissionQueueShareMax } from '../../model/limits.ts';
import type { SleepGatewaySettings } from './settings.ts';
import { WaitingLine, type Waiter } from './waiting-line.ts';

/** The admission owns these fields from `apply` to `leave`. */
export interface Applicant extends Waiter<Applicant> {
  lane: Lane | null;
  /** Its turn has come. */
  admitted(): void;
}

class Lane implements Waiter<Lane> {
  readonly address: string;
  readonly waiting = new WaitingLine<Applicant>();
  inside = 0;
  line: WaitingLine<Lane> | null = null;
  ahead: Lane | null = null;
  behind: Lane | null = null;

  constructor(address: string) {
    this.address = address;
  }
}

export type AdmissionSettings = Pick<
  SleepGatewaySettings,
  'acceptsPerSecond' | 'acceptRampSeconds' | 'handshakesMax' | 'handshakesPerAddressMax' | 'admissionQueueMax'
>;

/** Keys that may be given at once after a quiet time: those of this part of a second. */
const burstSeconds = 0.1;
/** Where a ramp begins, as a part of the full rate. */
const rampStart = 0.1;

export class Admission {
  readonly #settings: AdmissionSettings;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #bucket: TokenBucket;
  readonly #addressMax: number;
  #insideMax: number;
  readonly #laneWaitingMax: number;
  readonly #lanes = new Map<string, Lane>();
  /** The lanes with somebody waiting and room for one more inside. */
  readonly #turns = new WaitingLine<Lane>();
  #inside = 0;
  #waiting = 0;
  #retry: Cancel | null = null;

  constructor(settings: AdmissionSettings, clock: Clock) {
    const { handshakesPerAddressMax, admissionQueueMax } = settings;
    this.#settings = settings;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#insideMax = settings.handshakesMax;
    this.#bucket = fullBucket(this.#rate(this.#startedMs), this.#startedMs);
    this.#addressMax = handshakesPerAddressMax === 0 ? Infinity : handshakesPerAddressMax;
    this.#laneWaitingMax =
      handshakesPerAddressMax === 0 ? Infinity : Math.ceil(admissionQueueMax * admissionQueueShareMax);
  }

  /** Handshakes in progress. */
  get inside(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** `address` is an address key. True: `admitted` was or will be called. False: no room to wait; turn it away. */
  apply(applicant: Applicant, address: string): boolean {
    assert(applicant.lane === null, 'an applicant applies once');
    const lane = this.#lanes.get(address) ?? new Lane(address);
    const isFirst = this.#turns.length === 0 && lane.waiting.length === 0;
    if (isFirst && lane.inside < this.#addressMax && this.#takeTurn()) {
      this.#enter(applicant, lane);
      return true;
    }
    if (this.#waiting >= this.#settings.admissionQueueMax || lane.waiting.length >= this.#laneWaitingMax)
      return false;
    applicant.lane = lane;
    lane.waiting.push(applicant);
    this.#waiting += 1;
    this.#keep(lane);
    this.#serve();
    return true;
  }

  /** Its handshake is over, or it no longer waits. Does nothing for one who did neither. */
  leave(applicant: Applicant): void {
    const { lane } = applicant;
    if (lane === null) return;
    applicant.lane = null;
    if (applicant.line === null) {
      this.#inside -= 1;
      lane.inside -= 1;
    } else {
      lane.waiting.remove(applicant);
      this.#waiting -= 1;
    }
    this.#keep(lane);
    this.#serve();
  }

  /** Nobody is admitted after this. */
  close(): void {
    this.#insideMax = 0;
    this.#retry?.();
    this.#retry = null;
  }

  #enter(applicant: Applicant, lane: Lane): void {
    applicant.lane = lane;
    lane.inside += 1;
    this.#inside += 1;
    this.#keep(lane);
    applicant.admitted();
  }

  /** Gives turns to lanes for as long as the bounds allow. */
  #serve(): void {
    while (this.#turns.length > 0 && this.#takeTurn()) {
      const lane = this.#turns.shift();
      const applicant = lane?.waiting.shift() ?? null;
      assert(lane !== null && applicant !== null, 'a lane that takes turns has somebody waiting');
      this.#waiting -= 1;
      this.#enter(applicant, lane);
    }
  }

  /** Whether one more may go inside now; what it takes from the rate is taken. Where the rate says no, arms the retry. */
  #takeTurn(): boolean {
    if (this.#inside >= this.#insideMax) return false;
    const nowMs = this.#clock.monotonicMs();
    const waitMs = Math.ceil(waitForToken(this.#bucket, this.#rate(nowMs), nowMs));
    if (waitMs === 0) takeToken(this.#bucket);
    else this.#retry ??= this.#clock.after(waitMs, () => this.#retryNow());
    return waitMs === 0;
  }

  #retryNow(): void {
    this.#retry = null;
    this.#serve();
  }

  #rate(nowMs: number): Rate {
    const { acceptsPerSecond, acceptRampSeconds } = this.#settings;
    const elapsed = (nowMs - this.#startedMs) / 1000;
    const part =
      elapsed >= acceptRampSeconds ? 1 : rampStart + (1 - rampStart) * (elapsed / acceptRampSeconds);
    const perSecond = acceptsPerSecond * part;
    return { perSecond, burst: Math.max(1, perSecond * burstSeconds) };
  }

  /** Puts a lane where it now belongs: among those that take turns, on the map only, or nowhere. */
  #keep(lane: Lane): void {
    const { waiting, inside } = lane;
    const canTakeTurn = waiting.length > 0 && inside < this.#addressMax;
    if (!canTakeTurn) this.#turns.remove(lane);
    else if (lane.line === null) this.#turns.push(lane);
    if (waiting.length === 0 && inside === 0) this.#lanes.delete(lane.address);
    else this.#lanes.set(lane.address, lane);
  }
}
