/**
 * Admits connections to the handshake: each gets its session key now, waits for it, or is turned away. Three bounds hold
 * it back: keys per second, handshakes in progress, and handshakes in progress from one address. Applicants wait in the
 * queue of their address; the queues are served fairly, one key each, and a queue whose address is at its bound is
 * skipped. So neither a crowd behind one address nor a hostile one delays anybody else.
 * An applicant that has waited long enough withdraws by itself. Source: sleep-wire.md, Storms.
 */
import { assert } from '../../lib/assert.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import { admissionQueueShareMax } from '../../model/limits.ts';
import { addressHandshakesMax, type SleepSettings } from './settings.ts';

/** The admission owns these fields from `apply` to `leave`. */
export interface Applicant extends Waiter<Applicant> {
  queue: AddressQueue | null;
  /** Its handshake may begin. */
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
  SleepSettings,
  | 'accepts_per_second'
  | 'accept_ramp_s'
  | 'handshakes_max'
  | 'handshakes_per_address_max'
  | 'behind_balancer'
  | 'proxy_protocol'
  | 'admission_queue_max'
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
  /** The queues with a waiting applicant and room for one more handshake. */
  readonly #ready = new WaitingLine<AddressQueue>();
  #inside = 0;
  #waiting = 0;
  #retry: Cancel | null = null;

  constructor(settings: AdmissionSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#insideMax = settings.handshakes_max;
    this.#bucket = fullBucket(this.#rate(this.#startedMs), this.#startedMs);
    this.#addressMax = addressHandshakesMax(settings);
    this.#queueWaitingMax = this.countsAddresses
      ? Math.ceil(settings.admission_queue_max * admissionQueueShareMax)
      : Infinity;
  }

  /** False: every applicant has the address ''. */
  get countsAddresses(): boolean {
    return this.#addressMax < Infinity;
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
    const isFirst = this.#ready.length === 0 && queue.waiting.length === 0;
    if (isFirst && queue.inside < this.#addressMax && this.#takeToken()) {
      this.#enter(applicant, queue);
      return true;
    }
    if (this.#waiting >= this.#settings.admission_queue_max || queue.waiting.length >= this.#queueWaitingMax)
      return false;
    applicant.queue = queue;
    queue.waiting.push(applicant);
    this.#waiting += 1;
    this.#keep(queue);
    this.#serve();
    return true;
  }

  /** Its handshake is over, or it no longer waits. Does nothing for an applicant that did neither. */
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

  /** Admits no more. */
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

  /** Serves the queues in turn for as long as the bounds allow. */
  #serve(): void {
    while (this.#ready.length > 0 && this.#takeToken()) {
      const queue = this.#ready.shift();
      const applicant = queue?.waiting.shift() ?? null;
      assert(queue !== null && applicant !== null, 'a queue that is ready has an applicant');
      this.#waiting -= 1;
      this.#enter(applicant, queue);
    }
  }

  /** True: one more handshake may begin now, and its token is taken. Where the rate does not allow it, arms the retry. */
  #takeToken(): boolean {
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
    const { accepts_per_second: acceptsPerSecond, accept_ramp_s: acceptRampSeconds } = this.#settings;
    const elapsed = (nowMs - this.#startedMs) / 1000;
    const part =
      elapsed >= acceptRampSeconds ? 1 : rampStart + (1 - rampStart) * (elapsed / acceptRampSeconds);
    const perSecond = acceptsPerSecond * part;
    return { perSecond, burst: Math.max(1, perSecond * burstSeconds) };
  }

  /** Keeps a queue where it now belongs: among those that are ready, on the map only, or nowhere. */
  #keep(queue: AddressQueue): void {
    const { waiting, inside } = queue;
    const isReady = waiting.length > 0 && inside < this.#addressMax;
    if (!isReady) this.#ready.remove(queue);
    else if (queue.line === null) this.#ready.push(queue);
    if (waiting.length === 0 && inside === 0) this.#queues.delete(queue.address);
    else this.#queues.set(queue.address, queue);
  }
}

/** A member of a waiting line carries its own links. */
interface Waiter<Self extends Waiter<Self>> {
  /** The line it stands in; null: none. It and the neighbours belong to the line. */
  line: WaitingLine<Self> | null;
  ahead: Self | null;
  behind: Self | null;
}

/** First in, first out, and out of the middle just as cheaply. */
class WaitingLine<Item extends Waiter<Item>> {
  #first: Item | null = null;
  #last: Item | null = null;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: Item): void {
    assert(item.line === null, 'an item waits in one line');
    item.line = this;
    item.ahead = this.#last;
    if (this.#last === null) this.#first = item;
    else this.#last.behind = item;
    this.#last = item;
    this.#length += 1;
  }

  shift(): Item | null {
    const first = this.#first;
    if (first !== null) this.remove(first);
    return first;
  }

  /** Does nothing to an item that does not wait here. */
  remove(item: Item): void {
    if (item.line !== this) return;
    if (item.ahead === null) this.#first = item.behind;
    else item.ahead.behind = item.behind;
    if (item.behind === null) this.#last = item.ahead;
    else item.behind.ahead = item.ahead;
    item.line = null;
    item.ahead = null;
    item.behind = null;
    this.#length -= 1;
  }
}
