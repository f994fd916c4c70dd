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
  queue: AddressQueue | null;
  /** Its turn has come. */
  admitted(): void;
}

class AddressQueue implements Waiter<AddressQueue> {
  readonly address: string;
  readonly waiting = new WaitingLine<Applicant>();
  inside = 0;
  line: WaitingLine<AddressQueue> | null = null;
  ahead: AddressQueue | null = null;
  behind: AddressQueue | null = null;

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
  readonly #queueWaitingMax: number;
  readonly #queues = new Map<string, AddressQueue>();
  /** The lanes with somebody waiting and room for one more inside. */
  readonly #turns = new WaitingLine<AddressQueue>();
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
    this.#queueWaitingMax =
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
    assert(applicant.queue === null, 'an applicant applies once');
    const queue = this.#queues.get(address) ?? new AddressQueue(address);
    const isFirst = this.#turns.length === 0 && queue.waiting.length === 0;
    if (isFirst && queue.inside < this.#addressMax && this.#takeTurn()) {
      this.#enter(applicant, queue);
      return true;
    }
    if (this.#waiting >= this.#settings.admissionQueueMax || queue.waiting.length >= this.#queueWaitingMax)
      return false;
    applicant.queue = queue;
    queue.waiting.push(applicant);
    this.#waiting += 1;
    this.#keep(queue);
    this.#serve();
    return true;
  }

  /** Its handshake is over, or it no longer waits. Does nothing for one who did neither. */
  leave(applicant: Applicant): void {
    const { queue } = applicant;
    if (queue === null) return;
    applicant.queue = null;
    if (applicant.line === null) {
      this.#inside -= 1;
      queue.inside -= 1;
    } else {
      queue.waiting.remove(applicant);
      this.#waiting -= 1;
    }
    this.#keep(queue);
    this.#serve();
  }

  /** Nobody is admitted after this. */
  close(): void {
    this.#insideMax = 0;
    this.#retry?.();
    this.#retry = null;
  }

  #enter(applicant: Applicant, queue: AddressQueue): void {
    applicant.queue = queue;
    queue.inside += 1;
    this.#inside += 1;
    this.#keep(queue);
    applicant.admitted();
  }

  /** Gives turns to lanes for as long as the bounds allow. */
  #serve(): void {
    while (this.#turns.length > 0 && this.#takeTurn()) {
      const queue = this.#turns.shift();
      const applicant = queue?.waiting.shift() ?? null;
      assert(queue !== null && applicant !== null, 'a lane that takes turns has somebody waiting');
      this.#waiting -= 1;
      this.#enter(applicant, queue);
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
  #keep(queue: AddressQueue): void {
    const { waiting, inside } = queue;
    const canTakeTurn = waiting.length > 0 && inside < this.#addressMax;
    if (!canTakeTurn) this.#turns.remove(queue);
    else if (queue.line === null) this.#turns.push(queue);
    if (waiting.length === 0 && inside === 0) this.#queues.delete(queue.address);
    else this.#queues.set(queue.address, queue);
  }
}
