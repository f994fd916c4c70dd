/**
 * Admission control for handshakes: a connection gets its session key at once, waits for it, or is turned away. Three limits apply:
 * keys per second, handshakes in progress, and handshakes in progress from one address. Beyond the last two, a handshake in progress
 * is evicted by the rule of `Crowd`, or the applicant waits in the queue of its address. The queues are served round robin, one key
 * each, so that no address, crowded or hostile, delays another. Applicants withdraw when they have waited long enough.
 * Source: sleep-wire.md, Storms.
 */
import { assert } from '../lib/assert.ts';
import type { Cancel, Clock } from '../lib/clock.ts';
import { Crowd } from '../lib/connections/crowd.ts';
import { WaitingLine, type Waiter } from '../lib/collections/waiting-line.ts';
import { fullBucket, spendTokens, waitForToken, type Rate, type TokenBucket } from '../lib/token-bucket.ts';
import { admissionQueueShareMax } from '../model/limits.ts';
import type { SleepSettings } from './settings.ts';

export interface Applicant {
  /** An address key; set once, before it applies. */
  readonly address: string;
  admitted(): void;
  /** Closes the handshake: another applicant gets its place. */
  evict(): void;
}

/** An address with waiting applicants. It stands in the line of ready addresses, in that of addresses without a place, or in neither. */
class AddressQueue implements Waiter<AddressQueue> {
  readonly address: string;
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

/** Burst after a quiet time, in seconds of the full rate. */
const burstSeconds = 0.1;
/** First rate of a ramp, as a fraction of the full rate. */
const rampStart = 0.1;

export class Admission {
  readonly #settings: AdmissionSettings;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #bucket: TokenBucket;
  readonly #addressMax: number;
  readonly #queueWaitingMax: number;
  readonly #inside = new Crowd<Applicant>();
  readonly #waiting = new Crowd<Applicant>();
  readonly #queues = new Map<string, AddressQueue>();
  readonly #ready = new WaitingLine<AddressQueue>();
  /** Queues of addresses with as many handshakes as any other: none is evicted for them. */
  readonly #blocked = new WaitingLine<AddressQueue>();
  #isClosed = false;
  #retry: Cancel | null = null;

  constructor(settings: AdmissionSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#bucket = fullBucket(this.#rate(this.#startedMs), this.#startedMs);
    this.#addressMax = addressHandshakesMax(settings);
    this.#queueWaitingMax = this.countsAddresses
      ? Math.ceil(settings.admission_queue_max * admissionQueueShareMax)
      : Infinity;
  }

  /** False: there is no limit per address, and every applicant has the address ''. */
  get countsAddresses(): boolean {
    return this.#addressMax < Infinity;
  }

  get inside(): number {
    return this.#inside.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** True: `admitted` was or will be called. False: the queue is full; the caller turns the applicant away. */
  apply(applicant: Applicant): boolean {
    const { address } = applicant;
    const isFirst = this.#ready.length === 0 && this.#waiting.countOf(address) === 0;
    if (isFirst && this.#hasToken() && this.#hasPlace(address)) {
      this.#enter(applicant);
      return true;
    }
    if (!this.#hasRoomToWait(address)) return false;
    // Each waits with a grace period: an old applicant is evicted for a new one only if its address has more.
    this.#waiting.add(address, applicant, Infinity);
    const queue = this.#queues.get(address) ?? new AddressQueue(address);
    this.#queues.set(address, queue);
    if (queue.line === null) this.#ready.push(queue);
    this.#serve();
    return true;
  }

  /** Removes an applicant whose handshake is over or that no longer waits; no effect on others. */
  leave(applicant: Applicant): void {
    const { address } = applicant;
    if (this.#inside.delete(address, applicant)) {
      this.#unblock(this.#queues.get(address));
      this.#unblock(this.#blocked.first ?? undefined);
    } else if (this.#waiting.delete(address, applicant)) this.#dropIfEmpty(address);
    else return;
    this.#serve();
  }

  /** Called about twice a second, since the grace period of handshakes expires. */
  turn(): void {
    for (const queue of this.#queues.values()) this.#unblock(queue);
    this.#serve();
  }

  /** Stops admitting. */
  close(): void {
    this.#isClosed = true;
    this.#retry?.();
    this.#retry = null;
  }

  #enter(applicant: Applicant): void {
    spendTokens(this.#bucket);
    this.#inside.add(applicant.address, applicant, this.#clock.monotonicMs());
    applicant.admitted();
  }

  /** Serves the queues round robin while the limits allow. */
  #serve(): void {
    while (this.#ready.first !== null && this.#hasToken()) {
      const queue = this.#ready.first;
      const { address } = queue;
      this.#ready.remove(queue);
      if (this.#hasPlace(address)) {
        const applicant = this.#waiting.shift(address);
        assert(applicant !== null, 'a queue that is ready has an applicant');
        if (!this.#dropIfEmpty(address)) this.#ready.push(queue);
        this.#enter(applicant);
      } else if (this.#inside.countOf(address) < this.#addressMax) this.#blocked.push(queue);
    }
  }

  /** True: a handshake of the address may begin, if necessary by evicting another. */
  #hasPlace(address: string): boolean {
    const { handshakes_max: max } = this.#settings;
    const perAddressMax = this.#addressMax;
    const nowMs = this.#clock.monotonicMs();
    return this.#inside.makeRoom(address, nowMs, { max, perAddressMax }, (evicted) => evicted.evict());
  }

  #hasRoomToWait(address: string): boolean {
    if (this.#waiting.countOf(address) >= this.#queueWaitingMax) return false;
    const limits = { max: this.#settings.admission_queue_max, perAddressMax: 0 };
    return this.#waiting.makeRoom(address, this.#clock.monotonicMs(), limits, (evicted) => {
      this.#dropIfEmpty(evicted.address);
      evicted.evict();
    });
  }

  /** Schedules a retry if the rate allows no handshake now. */
  #hasToken(): boolean {
    if (this.#isClosed) return false;
    const nowMs = this.#clock.monotonicMs();
    const waitMs = Math.ceil(waitForToken(this.#bucket, this.#rate(nowMs), nowMs));
    if (waitMs > 0) this.#retry ??= this.#clock.after(waitMs, () => this.#retryNow());
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

  #unblock(queue: AddressQueue | undefined): void {
    if (queue === undefined || queue.line === this.#ready) return;
    this.#blocked.remove(queue);
    this.#ready.push(queue);
  }

  /** True: no applicant of the address waits any more. */
  #dropIfEmpty(address: string): boolean {
    if (this.#waiting.countOf(address) > 0) return false;
    const queue = this.#queues.get(address);
    queue?.line?.remove(queue);
    this.#queues.delete(address);
    return true;
  }
}

/** Maximum handshakes in progress from one address. Infinity: no limit, as behind a balancer whose address all connections share. */
function addressHandshakesMax(
  settings: Pick<SleepSettings, 'behind_balancer' | 'proxy_protocol' | 'handshakes_per_address_max'>,
): number {
  const sharesAddress = settings.behind_balancer && !settings.proxy_protocol;
  return sharesAddress || settings.handshakes_per_address_max === 0
    ? Infinity
    : settings.handshakes_per_address_max;
}
